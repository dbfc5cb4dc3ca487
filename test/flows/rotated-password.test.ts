/** The password of a Postgres server changes while the service runs, in the file of SVC_DATABASE_URL_FILE. */
import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import pg from 'pg'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { readConfig } from '../../src/config.ts'
import { openDatabase } from '../../src/database/open.ts'
import type { Database } from '../../src/database/client.ts'
import { startPostgres } from '../support/postgres.ts'
import type { TestPostgres } from '../support/postgres.ts'
import { newFolder } from '../support/process.ts'
import { waitForValue } from '../support/wait.ts'

let server: TestPostgres
let folder: Awaited<ReturnType<typeof newFolder>>
let owner: pg.Client

beforeAll(async () => {
  server = await startPostgres()
  folder = await newFolder()
})
afterAll(async () => {
  await server.stop()
  await folder[Symbol.asyncDispose]()
})

const readsAgain = ({ prisma }: Database) => prisma.account.count().catch(() => 'refused')

it('is used by each connection that is opened after the change', async () => {
  const url = new URL((await server.newDatabase()).reveal())
  owner = new pg.Client({ connectionString: url.href })
  // The server ends this connection too.
  owner.on('error', () => undefined)
  await owner.connect()
  await owner.query("CREATE ROLE app LOGIN PASSWORD 'old'")
  await owner.query('GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO app')
  const file = path.join(folder.path, 'database-url')
  const writePassword = (password: string) =>
    writeFile(file, `${Object.assign(new URL(url), { username: 'app', password }).href}\n`)
  await writePassword('old')

  const { database: config } = readConfig({ SVC_DATABASE_URL_FILE: file })
  if (!config) throw new Error('The file names no database.')
  await using database = disposable(await openDatabase(config))
  const listening = database.listen('news', () => undefined)
  await owner.query("ALTER ROLE app PASSWORD 'new'")
  await server.breakConnections()
  await waitForValue('a refused connection', () => readsAgain(database), 'refused')

  // What a program that writes the file may leave for a moment.
  await writeFile(file, '')
  expect(await readsAgain(database)).toBe('refused')
  await writePassword('new')
  await waitForValue('rows', () => readsAgain(database), 0)
  await waitForValue('notifications', () => listening.isConnected(), true)
  await writeFile(file, '')
  await server.breakConnections()
  await waitForValue('rows', () => readsAgain(database), 0)
})

function disposable(database: Database) {
  return { ...database, [Symbol.asyncDispose]: () => database.close() }
}
