/** The command `svc erase`, with both kinds of database. What it erases is in stored-data.test.ts. */
import { execFileSync } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openDatabase } from '../../src/database/open.ts'
import { startPostgres } from '../support/postgres.ts'
import { newFolder, START_ENV, startProcess } from '../support/process.ts'
import { ROOT } from '../support/source/documents.ts'

const ADA = 'ada@example.com'
const BOB = 'bob@example.com'
const CAROL = 'carol@example.com'

let folder: Awaited<ReturnType<typeof newFolder>>

beforeAll(async () => {
  folder = await newFolder()
})
afterAll(() => folder[Symbol.asyncDispose]())

const directoryFile = () => path.join(folder.path, 'directory.yaml')

function writeDirectory(...members: readonly string[]): Promise<void> {
  const emails = members.map((email) => `{ email: ${email} }`).join(', ')
  const teams = `[{ name: core, members: [${emails}] }, { name: lab, members: [${emails}] }]`
  return writeFile(directoryFile(), `organizations: [{ name: acme, teams: ${teams} }]`)
}

function svc(env: Readonly<Record<string, string>>, ...args: readonly string[]): string {
  const options = { cwd: ROOT, env: { ...START_ENV, ...env }, stdio: 'pipe', encoding: 'utf8' } as const
  return execFileSync(process.execPath, ['src/start.js', ...args], options)
}

// Each case waits for several processes, one after another.
describe('svc erase', { timeout: 240_000 }, () => {
  it('erases who has left an embedded database, while the service runs and while it is stopped', async () => {
    const env = { SVC_DATABASE_URL: `embedded:${path.join(folder.path, 'db')}`, SVC_DIRECTORY_FILE: directoryFile() }
    await writeDirectory(ADA, BOB, CAROL)
    const running = await startProcess(env)
    expect(() => svc(env, 'erase', BOB)).toThrow(`${BOB} is still invited to @acme/core, @acme/lab`)
    await writeDirectory(ADA)
    svc(env, 'reload', '--force')

    expect(svc(env, 'erase', ' Bob@Example.com')).toMatch(/^bob@example\.com is erased.*\nRemoved: invitations 2, /)
    expect(() => svc(env, 'erase', BOB)).toThrow(`No person with the address ${BOB} is stored.`)
    await running.stop()
    expect(svc(env, 'erase', CAROL)).toContain(`${CAROL} is erased.`)
    expect(() => svc(env, 'erase', ADA)).toThrow('still invited')
  })

  it('erases who has left a database on a Postgres server', async () => {
    await using postgres = await startPostgres()
    const url = await postgres.newDatabase()
    const database = await openDatabase({ kind: 'postgres', url })
    const at = new Date()
    await database.prisma.account.create({ data: { email: BOB, userHandle: Buffer.from('bob'), createdAt: at } })
    expect(svc({ SVC_DATABASE_URL: url.reveal() }, 'erase', BOB)).toContain(`${BOB} is erased.`)
    expect(await database.prisma.account.count({ where: { email: BOB } })).toBe(0)
    expect(await database.prisma.auditEvent.findMany({ select: { kind: true, details: true } })).toEqual([
      { kind: 'account.erased', details: { by: 'operator' } },
    ])
    await database.close()
  })

  it('makes no database where the settings name none that exists', () => {
    const env = { SVC_DATABASE_URL: `embedded:${path.join(folder.path, 'other')}` }
    expect(() => svc(env, 'erase', BOB)).toThrow('There is no database in')
    expect(() => svc({ SVC_DATABASE_URL: 'memory:' }, 'erase', BOB)).toThrow('names no database that is stored')
    expect(() => svc(env, 'erase', 'bob')).toThrow('bob is not an email address.')
  })
})
