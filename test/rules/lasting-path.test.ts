import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { lastingPath } from '../../src/cli/agents/settings.ts'

let prefix: string
let node: string
beforeEach(async () => {
  prefix = await mkdtemp(path.join(tmpdir(), 'svc-homebrew-'))
  node = path.join(prefix, 'Cellar/node@24/24.21.0_1/bin/node')
  await mkdir(path.dirname(node), { recursive: true })
  await writeFile(node, '')
})
afterEach(() => rm(prefix, { recursive: true }))

it('a program of Homebrew is named by the link that an upgrade keeps', async () => {
  await mkdir(path.join(prefix, 'opt'))
  await symlink('../Cellar/node@24/24.21.0_1', path.join(prefix, 'opt/node@24'))
  expect(lastingPath(node)).toBe(path.join(prefix, 'opt/node@24/bin/node'))
})

it('a program without such a link is named by its path', () => {
  expect(lastingPath(node)).toBe(node)
  expect(lastingPath('/usr/bin/node')).toBe('/usr/bin/node')
})
