import { once } from 'node:events'
import { statSync } from 'node:fs'
import { readFile, rename, writeFile } from 'node:fs/promises'
import { connect, createServer } from 'node:net'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { readConfig } from '../../src/config.ts'
import { describeService, findDirectoryWarnings } from '../../src/server/describe.ts'
import { systemClock } from '../../src/kernel/clock.ts'
import { askService, openManagement } from '../../src/server/management.ts'
import { serve } from '../../src/server/serve.ts'
import { newFolder } from '../support/process.ts'
import { recordingLog } from '../support/recording-log.ts'
import type { LogLine } from '../support/recording-log.ts'
import { startService } from '../support/service.ts'
import type { TestService } from '../support/service.ts'
import { withDeadline } from '../support/wait.ts'

const members = (...names: string[]) => names.map((name) => `{ email: ${name}@example.com }`).join(', ')
const directory = (...names: string[]) =>
  `organizations: [{ name: acme, teams: [{ name: core, members: [${members(...names)}] }] }]`

let folder: Awaited<ReturnType<typeof newFolder>>
let service: TestService
let socket: string
let file: string

beforeAll(async () => {
  folder = await newFolder()
  socket = path.join(folder.path, 'management.sock')
  file = path.join(folder.path, 'directory.yaml')
  await writeFile(file, directory('ada', 'bob'))
  service = await startService({
    directory: directory('ada'),
    env: {
      SVC_MANAGEMENT_SOCKET: socket,
      SVC_DIRECTORY_FILE: file,
      SVC_VENDORA_UPSTREAM_URL: 'http://127.0.0.1:9',
      SVC_LOCAL_ENGINE_URL: 'http://127.0.0.1:9',
    },
  })
})
afterAll(async () => {
  await service[Symbol.asyncDispose]()
  await folder[Symbol.asyncDispose]()
})

const linesOf = (event: string) => service.log.filter((line) => line.event === event)

describe('the start line', () => {
  it('says what was started, without a secret', () => {
    expect(linesOf('service.listening')).toMatchObject([
      {
        level: 'info',
        fields: {
          version: expect.stringMatching(/^\d+\.\d+\.\d+/) as unknown,
          role: 'all',
          baseUrl: 'http://localhost:8787',
          email: service.mailbox.url,
          teams: 1,
          members: 2,
          backends: 2,
        },
      },
    ])
    const config = readConfig({ SVC_MAIL_URL: 'smtps://svc:hunter2@mail.example.com' })
    expect(describeService(config, null)).toMatchObject({ database: 'embedded', email: 'smtps://mail.example.com:465' })
  })

  it('is followed by warnings in words when nobody can sign in or no call can be served', () => {
    const counts = { teams: 1, members: 0, backends: ['vendora'], models: [] }
    expect(findDirectoryWarnings(readConfig({}), counts)).toEqual([
      expect.stringContaining('nobody can sign in'),
      expect.stringContaining('every model call is refused'),
    ])
    const served = { ...counts, members: 1, backends: ['elsewhere'] }
    expect(findDirectoryWarnings(readConfig({}), served)).toEqual([])
  })

  it('is followed by a warning that names the models that no configured backend can serve', async () => {
    await using partly = await startService({
      env: { SVC_VENDORB_UPSTREAM_URL: 'http://127.0.0.1:9' },
      directory: `
organizations: []
models:
  - { id: team/anywhere, displayName: Anywhere, owner: team }
  - { id: team/local, displayName: Local, owner: team, backendModel: 'qwen3:8b' }
  - { id: team/other, displayName: Other, owner: team, serve: [{ backend: vendora, model: other }] }
  - { id: team/hidden, displayName: Hidden, owner: team, published: false, backendModel: 'qwen3:8b' }
  - id: team/both
    displayName: Both
    owner: team
    serve: [{ backend: vendora, model: both }, { backend: vendorb, model: both }]
`,
    })
    const warning = expect.stringMatching(/^No configured backend serves team\/local, team\/other: /) as unknown
    expect(partly.log.filter(({ event }) => event === 'settings.warning')).toContainEqual(
      expect.objectContaining({ fields: { warning } }),
    )
  })

  it('names at most twenty of these models', () => {
    const models = Array.from({ length: 22 }, (_, n) => ({ id: `team/model-${n}`, backends: ['vendora'] }))
    const counts = { teams: 1, members: 1, backends: ['elsewhere'], models }
    const [warning] = findDirectoryWarnings(readConfig({}), counts)
    expect(warning).toContain('team/model-18, team/model-19 and 2 more: calls of these models are refused')
  })
})

it('a stop waits for a reload that a signal has begun', async () => {
  const lines: LogLine[] = []
  const config = readConfig({ SVC_PORT: '0', SVC_DATABASE_URL: 'memory:', SVC_DIRECTORY_FILE: file })
  const running = await serve(config, { clock: systemClock, log: { ...recordingLog(lines), close: async () => true } })
  // Its last steps use the database, after the listener was closed.
  await writeFile(file, directory('ada', 'bob', ...Array.from({ length: 2_000 }, (_, at) => `member-${at}`)))
  const reload = running.reload()
  await running.stop()
  expect(await reload).toContain('members: 2000 invited')
  expect(lines.map(({ event }) => event).slice(-2)).toEqual(['directory.applied', 'service.stopped'])
})

describe('the management socket', () => {
  it('can be opened by its owner only', () => {
    expect(statSync(socket).mode & 0o777).toBe(0o600)
  })

  it('applies the directory file again and says what has changed', async () => {
    await writeFile(file, directory('ada', 'eve', 'max'))
    expect(await askService(socket, 'reload')).toContain('members: 2 invited, 1 withdrawn')
    expect(await askService(socket, 'reload')).toContain('nothing has changed')
  })

  it('logs that there is no file to apply', async () => {
    const own = path.join(folder.path, 'without-files.sock')
    await using empty = await startService({ env: { SVC_MANAGEMENT_SOCKET: own, SVC_DIRECTORY_FILE: '' } })
    expect(await askService(own, 'reload')).toBe('SVC_DIRECTORY_FILE is not set, so there is no file to apply.')
    expect(empty.log.map(({ event }) => event)).toContain('reload.without_files')
  })

  it('says why the file was refused, and logs it', async () => {
    await writeFile(file, 'organizations: 7')
    await expect(askService(socket, 'reload')).rejects.toThrow('organizations: must be a list')
    expect(linesOf('directory.rejected')).toHaveLength(1)
  })

  it('names at most twenty mistakes of the file', async () => {
    await writeFile(file, directory(...Array.from({ length: 25 }, (_, at) => `a@${at}`)))
    await expect(askService(socket, 'reload')).rejects.toThrow(/members\[19\].*\n {2}and 5 more$/)
  })

  it('applies a file that withdraws most of the members only by force', async () => {
    await writeFile(file, directory('a', 'b', 'c', 'd', 'e', 'f'))
    await askService(socket, 'reload')
    await writeFile(file, directory('a'))
    await expect(askService(socket, 'reload')).rejects.toThrow('It would withdraw 5 of 6 members')
    expect(await askService(socket, 'reload', { force: '1' })).toContain('5 withdrawn')
  })

  it('knows no other action', async () => {
    await expect(askService(socket, 'toString')).rejects.toThrow('is of another version')
  })

  it('survives a request whose path is not a valid URL', async () => {
    await expect(askService(socket, '/')).rejects.toThrow('is of another version')
    expect(await askService(socket, 'reload')).toContain('was applied')
  })

  it('waits at its end for an action that is running, and not for a connection that sends nothing', async () => {
    const own = path.join(folder.path, 'own.sock')
    const [started, finish] = [Promise.withResolvers<null>(), Promise.withResolvers<string>()]
    const slow = () => {
      started.resolve(null)
      return finish.promise
    }
    const management = await openManagement(own, { slow }, recordingLog([]))
    await once(connect(own), 'connect')
    const answer = askService(own, 'slow')
    await started.promise
    const closed = management.close()
    finish.resolve('done')
    expect(await answer).toBe('done')
    await withDeadline('the end', closed)
  })

  it('says that the service has ended when it ends before its answer', async () => {
    const own = path.join(folder.path, 'ending.sock')
    const server = createServer((connection) => connection.once('data', () => connection.destroy()))
    await once(server.listen(own), 'listening')
    await expect(askService(own, 'reload')).rejects.toThrow('The service has ended before it answered.')
    server.close()
  })

  it('does not replace a file that is no socket', async () => {
    const named = path.join(folder.path, 'notes.txt')
    await writeFile(named, 'Keep this.')
    const lines: LogLine[] = []
    const management = await openManagement(named, {}, recordingLog(lines))
    await management.close()
    expect(await readFile(named, 'utf8')).toBe('Keep this.')
    expect(lines).toMatchObject([{ event: 'management.unavailable', fields: { path: named } }])
  })

  it('is not taken from a process that serves it, and is taken from one that was killed', async () => {
    const lines: string[] = []
    const line = (_fields: object, event: string) => void lines.push(event)
    const log = { debug: line, info: line, warn: line, error: line }
    await (await openManagement(socket, {}, log)).close()
    expect(lines).toEqual(['management.unavailable'])

    const left = path.join(folder.path, 'left.sock')
    await leaveSocket(left)
    const management = await openManagement(left, { hello: async () => 'hi' }, log)
    expect(await askService(left, 'hello')).toBe('hi')
    await management.close()
    expect(lines).toHaveLength(1)
    await expect(askService(left, 'hello')).rejects.toThrow('No service answers')
  })
})

/** Makes a socket file at which no process listens. */
async function leaveSocket(file: string): Promise<void> {
  const server = createServer().listen(`${file}.open`)
  await once(server, 'listening')
  // Node.js removes the file that it has made, under its first name.
  await rename(`${file}.open`, file)
  server.close()
  await once(server, 'close')
}
