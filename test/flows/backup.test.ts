import { execFileSync } from 'node:child_process'
import {
  appendFileSync,
  chownSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  symlinkSync,
} from 'node:fs'
import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { moveData } from '../../src/database/embedded/backup.ts'
import { lockBackups } from '../../src/database/embedded/lock.ts'
import { runOperatorCommand } from '../support/operator-command.ts'
import { blocksOf, readPage, ROOT } from '../support/source/documents.ts'
import { newFolder, START_ENV, startProcess } from '../support/process.ts'
import type { TestProcess } from '../support/process.ts'

const ADA = 'ada@example.com'
const DIRECTORY = `
organizations:
  - { name: acme, teams: [{ name: core, members: [{ email: ${ADA} }] }] }
`

type Tokens = { readonly refreshToken: string }

let folder: Awaited<ReturnType<typeof newFolder>>
let running: TestProcess

beforeAll(async () => {
  folder = await newFolder()
  await writeFile(path.join(folder.path, 'directory.yaml'), DIRECTORY)
})
afterAll(async () => {
  await running.kill()
  await folder[Symbol.asyncDispose]()
})

const database = () => path.join(folder.path, 'db')
/** What the blocks of docs/operating.md make and restore, with the test's folder in the place of /var/backups. */
const backup = () => path.join(folder.path, 'svc/2026-11-22')

const settings = () => ({
  SVC_DATABASE_URL: `embedded:${database()}`,
  SVC_DIRECTORY_FILE: path.join(folder.path, 'directory.yaml'),
  SVC_MAIL_URL: `outbox:${path.join(folder.path, 'outbox')}`,
})

/**
 * Runs a block of docs/operating.md in the test's folder, with this svc and the settings of the test. The test itself
 * stops and starts the service.
 */
function runBlock(name: string): string {
  const block = blocksOf(readPage('docs/operating.md')).find(({ info }) => info === `sh run=${name}`)
  if (!block) throw new Error(`docs/operating.md has no block "sh run=${name}".`)
  const svc = `svc() { ${process.execPath} ${path.join(ROOT, 'src/start.js')} "$@"; }`
  const env = { ...START_ENV, ...settings() }
  // The user of the service is the one that runs this test.
  const commands = `systemctl() { :; }\nrunuser() { shift 3; "$@"; }\n${svc}`
  const code = `set -eu\n${commands}\n${block.code.replaceAll('/var/backups', folder.path)}`
  return execFileSync('sh', ['-c', code], { cwd: folder.path, env, stdio: 'pipe', encoding: 'utf8' })
}

/** The same commands in this process. */
const backUpHere = () => runOperatorCommand(settings(), 'backup', backup())
const restoreHere = () => runOperatorCommand(settings(), 'restore', backup())

async function post<Answer>(route: string, body: object): Promise<Answer> {
  const headers = { 'content-type': 'application/json' }
  const answer = await fetch(running.origin + route, { method: 'POST', headers, body: JSON.stringify(body) })
  const text = await answer.text()
  if (!answer.ok) throw new Error(`${route} answered ${answer.status}: ${text}`)
  return JSON.parse(text) as Answer
}

async function logIn(deviceId: string): Promise<Tokens> {
  type Started = { readonly deviceCode: string; readonly verificationUri: string }
  const { deviceCode, verificationUri } = await post<Started>('/v1/auth/device/start', { email: ADA, deviceId })
  // With an outbox on a loopback address, this link approves.
  await post('/v1/auth/magic/consume', { token: new URL(verificationUri).searchParams.get('token') })
  return post<Tokens>('/v1/auth/device/poll', { deviceCode })
}

const refresh = ({ refreshToken }: Tokens) => post<Tokens>('/v1/auth/token/refresh', { account: ADA, refreshToken })

describe('a backup of an embedded database, by the commands of docs/operating.md', () => {
  it('brings back the sessions of the time when it was made, and no later ones', async () => {
    running = await startProcess(settings())
    const before = await logIn('before-the-backup')
    expect(runBlock('backup')).toContain('The database is backed up in')
    const after = await logIn('after-the-backup')
    await expect(restoreHere()).rejects.toThrow('is in use by process')
    // Cannot be copied, like a file for which the disk has no space.
    const pipe = path.join(database(), 'data/pipe')
    execFileSync('mkfifo', [pipe])
    const toAnother = runOperatorCommand(settings(), 'backup', path.join(folder.path, 'another'))
    await expect(toAnother).rejects.toThrow(/^The database cannot be copied beside itself: .*pipe.* stop the service/s)
    rmSync(pipe)
    await running.stop()
    // As if the first start of the service had been killed while it created its database.
    await writeFile(path.join(folder.path, 'db/data.unfinished'), '')
    expect(runBlock('restore')).toContain('data.before-restore-1')

    running = await startProcess(settings())
    expect(await refresh(before)).toHaveProperty('accessToken')
    await expect(refresh(after)).rejects.toThrow('401')
    await running.stop()
    // It waits for four processes, one after another.
  }, 240_000)

  it('is refused where there is a backup already', async () => {
    await expect(backUpHere()).rejects.toThrow('is not empty. Name a new directory.')
    rmSync(backup(), { recursive: true })
    await expect(restoreHere()).rejects.toThrow('is not a backup')
  })

  it('works while the service is stopped, also on a full disk: the locks write nothing', async () => {
    if (existsSync('/dev/full')) symlinkSync('/dev/full', path.join(database(), 'owner.pid'))
    expect(await backUpHere()).toContain('The database is backed up in')
    expect(readdirSync(database()).filter((name) => name.endsWith('-journal'))).toEqual([])
  })

  it('is refused while another one is made, which would take its copy away', async () => {
    const unlock = lockBackups(database())
    await expect(backUpHere()).rejects.toThrow('Another backup of')
    unlock()
  })

  const DAMAGED = /The file data\/\S+ of the backup is missing or damaged/
  it.each<[string, RegExp, (backup: string) => void]>([
    ['a byte was changed', DAMAGED, (backup) => appendFileSync(path.join(backup, 'data/PG_VERSION'), '0')],
    ['a file is missing', DAMAGED, (backup) => rmSync(path.join(backup, 'data/global/pg_control'))],
    ['it has no checksums', /write them there: find data -type f/, (backup) => rmSync(path.join(backup, 'SHA256SUMS'))],
  ])('is not restored when %s', async (_, message, damage) => {
    const whole = path.join(folder.path, 'whole')
    cpSync(backup(), whole, { recursive: true })
    damage(backup())
    await expect(restoreHere()).rejects.toThrow(message)
    rmSync(backup(), { recursive: true })
    renameSync(whole, backup())
  })

  it.runIf(process.getuid?.() === 0)('is neither made nor restored by another user, which needs root', async () => {
    chownSync(database(), 65_534, 65_534)
    const message = 'belongs to the user with the id 65534'
    await expect(backUpHere()).rejects.toThrow(message)
    await expect(restoreHere()).rejects.toThrow(message)
    chownSync(database(), 0, 0)
  })

  it('leaves no copy behind when it cannot be moved to its place', async () => {
    const copy = path.join(folder.path, 'copy')
    mkdirSync(copy)
    await expect(moveData(copy, '/dev/null/backup')).rejects.toThrow('ENOTDIR')
    expect(existsSync(copy)).toBe(false)
  })
})
