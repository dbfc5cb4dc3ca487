/** The commands `svc export` and `svc erase`, with both kinds of database. What they do is in stored-data.test.ts. */
import { execFileSync } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openDatabase } from '../../src/database/open.ts'
import { runOperatorCommand } from '../support/operator-command.ts'
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

/** `svc erase`, in a process of its own. */
function svcErase(settings: Readonly<Record<string, string>>, email: string): string {
  const options = { cwd: ROOT, env: { ...START_ENV, ...settings }, stdio: 'pipe', encoding: 'utf8' } as const
  return execFileSync(process.execPath, ['src/start.js', 'erase', email], options)
}

/** The address in what `svc export` has printed. */
function emailIn(printed: string): string {
  return (JSON.parse(printed) as { account: { email: string } }).account.email
}

// Starts of processes take long on a machine with other work.
describe('svc export and svc erase', { timeout: 240_000 }, () => {
  it('export and erase who has left an embedded database, while the service runs and while it is stopped', async () => {
    const settings = {
      SVC_DATABASE_URL: `embedded:${path.join(folder.path, 'db')}`,
      SVC_DIRECTORY_FILE: directoryFile(),
    }
    await writeDirectory(BOB, CAROL)
    const running = await startProcess(settings)
    const refused = (command: 'export' | 'erase') => expect(runOperatorCommand(settings, command, BOB)).rejects
    await refused('erase').toThrow(`${BOB} is still invited to @acme/core, @acme/lab`)
    await writeDirectory(ADA)
    await runOperatorCommand(settings, 'reload', '--force')

    expect(emailIn(await runOperatorCommand(settings, 'export', BOB))).toBe(BOB)
    expect(svcErase(settings, ' Bob@Example.com')).toMatch(/^bob@example\.com is erased.*\nRemoved: invitations 2, /)
    await refused('erase').toThrow(`No person with the address ${BOB} is stored.`)
    await refused('export').toThrow(`No person with the address ${BOB} is stored.`)
    await running.stop()
    expect(emailIn(await runOperatorCommand(settings, 'export', CAROL))).toBe(CAROL)
    expect(await runOperatorCommand(settings, 'erase', CAROL)).toContain(`${CAROL} is erased.`)
  })

  it('export and erase who has left a database on a Postgres server', async () => {
    await using postgres = await startPostgres()
    const url = await postgres.newDatabase()
    const database = await openDatabase({ kind: 'postgres', url })
    const at = new Date()
    await database.prisma.account.create({ data: { email: BOB, userHandle: Buffer.from('bob'), createdAt: at } })
    const settings = { SVC_DATABASE_URL: url.reveal() }
    expect(emailIn(await runOperatorCommand(settings, 'export', BOB))).toBe(BOB)
    expect(await runOperatorCommand(settings, 'erase', BOB)).toContain(`${BOB} is erased.`)
    expect(await database.prisma.account.count({ where: { email: BOB } })).toBe(0)
    expect(await database.prisma.auditEvent.findMany({ select: { kind: true, details: true } })).toEqual([
      { kind: 'account.erased', details: { by: 'operator' } },
    ])
    await database.close()
  })

  it('make no database where the settings name none that exists', async () => {
    const refused = (url: string) => expect(runOperatorCommand({ SVC_DATABASE_URL: url }, 'erase', BOB)).rejects
    await refused(`embedded:${path.join(folder.path, 'other')}`).toThrow('There is no database in')
    await refused('memory:').toThrow('names no database that is stored')
  })

  it('refuse what is not an email address', async () => {
    await expect(runOperatorCommand({}, 'erase', 'bob')).rejects.toThrow('bob is not an email address.')
  })
})
