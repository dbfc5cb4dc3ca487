import { mkdir, mkdtemp, realpath, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { lastingPath } from '../../src/cli/agents/lasting-path.ts'

let folder: string
beforeEach(async () => {
  folder = await realpath(await mkdtemp(path.join(tmpdir(), 'svc-versions-')))
})
afterEach(() => rm(folder, { recursive: true }))

async function put(name: string): Promise<string> {
  const file = path.join(folder, name)
  await mkdir(path.dirname(file), { recursive: true })
  await writeFile(file, '')
  return file
}

it('a program of Homebrew is named by the link that an upgrade keeps', async () => {
  const node = await put('Cellar/node@24/24.21.0_1/bin/node')
  expect(lastingPath(node)).toBe(node)
  await mkdir(path.join(folder, 'opt'))
  await symlink('../Cellar/node@24/24.21.0_1', path.join(folder, 'opt/node@24'))
  expect(lastingPath(node)).toBe(path.join(folder, 'opt/node@24/bin/node'))
})

it('a file that fnm reaches through the link of a shell is named without it', async () => {
  const svc = await put('node-versions/v24.21.0/installation/bin/svc')
  await mkdir(path.join(folder, 'fnm_multishells'))
  const link = path.join(folder, 'fnm_multishells/4711_1795438890')
  await symlink(path.join(folder, 'node-versions/v24.21.0/installation'), link)
  expect(lastingPath(path.join(link, 'bin/svc'))).toBe(svc)
})

it('any other file is named by its path', async () => {
  const svc = await put('lib/svc.js')
  await symlink(svc, path.join(folder, 'svc'))
  expect(lastingPath(path.join(folder, 'svc'))).toBe(path.join(folder, 'svc'))
})
