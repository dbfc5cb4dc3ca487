import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { Agent, createServer, get } from 'node:http'
import type { IncomingMessage } from 'node:http'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { askService } from '../../src/server/management.ts'
import { freePort, listenOnLoopback } from '../support/loopback.ts'
import { startPostgres } from '../support/postgres.ts'
import { newFolder, refusedStart, startProcess } from '../support/process.ts'
import type { TestProcess } from '../support/process.ts'
import { waitForValue, waitUntil, withDeadline } from '../support/wait.ts'

let running: TestProcess
let folder: Awaited<ReturnType<typeof newFolder>>
let metricsPort: number
const file = () => path.join(folder.path, 'directory.yaml')
const prices = () => path.join(folder.path, 'prices.json')
/** In the form of LiteLLM. */
const PRICES = JSON.stringify({ large: { input_cost_per_token: 1e-6, output_cost_per_token: 1e-6 } })
const socket = () => path.join(folder.path, 'management.sock')
/** The file of a setting, and of the credential of a backend. */
const secret = () => path.join(folder.path, 'secret.txt')

const notified = () => path.join(folder.path, 'notified.txt')

/** Makes a `systemd-notify` that writes down how it is called. Returns the settings of a unit with `Type=notify`. */
async function fakeSystemd() {
  const bin = path.join(folder.path, 'bin')
  await mkdir(bin)
  const script = `#!/bin/sh\necho "$NOTIFY_SOCKET $@" >> '${notified()}'\n`
  await writeFile(path.join(bin, 'systemd-notify'), script, { mode: 0o755 })
  return { PATH: `${bin}:${process.env['PATH'] ?? ''}`, NOTIFY_SOCKET: '/run/systemd/notify' }
}

beforeAll(async () => {
  folder = await newFolder()
  metricsPort = await freePort()
  await writeFile(file(), 'organizations: [{ name: acme, teams: [{ name: core }] }]')
  await writeFile(prices(), PRICES)
  await writeFile(secret(), 'sk-of-a-backend')
  running = await startProcess({
    SVC_ROLE: 'gateway',
    SVC_PROCESSES: '2',
    SVC_PORT: String(await freePort()),
    SVC_METRICS_PORT: String(metricsPort),
    SVC_GATEWAY_KEYS_FILE: `${folder.path}/keys.json`,
    SVC_CONTROL_PLANE_URL: 'http://127.0.0.1:9',
    SVC_DIRECTORY_FILE: file(),
    SVC_PRICES_FILE: prices(),
    SVC_UPSTREAM_BEARER_TOKEN_FILE: secret(),
    SVC_MANAGEMENT_SOCKET: socket(),
    ...(await fakeSystemd()),
  })
})
afterAll(async () => {
  await running[Symbol.asyncDispose]()
  await folder[Symbol.asyncDispose]()
})

/** A new connection for each request, so that both processes get some. */
const getHealth = async () => {
  const answer = await fetch(`${running.origin}/healthz`, { headers: { connection: 'close' } })
  return answer.status
}

/** Opens a connection that stays open after its first answer. */
async function openIdle() {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  const [res] = (await once(get(`${running.origin}/healthz`, { agent }), 'response')) as [IncomingMessage]
  const closed = once(res.socket, 'close')
  res.resume()
  return { closed }
}

const countApplied = () => running.output().match(/"directory\.applied"/g)?.length ?? 0

const countListening = () => running.output().match(/"service\.listening"/g)?.length ?? 0

/** How many answers of `/healthz` all processes have counted. */
const countHealth = () => readCount(/^svc_http_request_seconds_count\{.*healthz.*\} (\d+)$/m)

/** A number of the sum of the metrics; 0 where it is missing. */
async function readCount(line: RegExp): Promise<number> {
  const text = await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text()
  return Number(line.exec(text)?.[1] ?? 0)
}

describe('SVC_PROCESSES=2', () => {
  it('serves one port with two processes, and the sum of their metrics', async () => {
    await waitForValue('two processes', countListening, 2)
    for (let count = 0; count < 10; count++) expect(await getHealth()).toBe(200)
    expect(await countHealth()).toBe(10)
  })

  it('tells systemd once that it is ready', async () => {
    const calls = () => readFile(notified(), 'utf8')
    await waitForValue('the notification', calls, '/run/systemd/notify --ready\n')
    await waitForValue('two processes', countListening, 2)
    expect(await calls()).toBe('/run/systemd/notify --ready\n')
  })

  it('says in each line of the log which process has written it', () => {
    const inLog = [...running.output().matchAll(/"pid":(\d+).*"service\.listening"/g)].map(([, pid]) => Number(pid))
    expect(inLog.toSorted()).toEqual(childrenOf(running.pid).toSorted())
  })

  it('applies the directory file in both processes, by signal and by command', async () => {
    expect(await askService(socket(), 'reload')).toContain('was applied')
    await waitForValue('both processes', countApplied, 4)
    running.signal('SIGHUP')
    await waitForValue('both processes', countApplied, 6)
    await writeFile(file(), 'organizations: 7')
    await expect(askService(socket(), 'reload')).rejects.toThrow('must be a list')
    await writeFile(file(), 'organizations: []')
  })

  it('applies the directory file in both processes when the price file is refused', async () => {
    await writeFile(prices(), '{')
    await expect(askService(socket(), 'reload')).rejects.toThrow('The price file')
    await waitForValue('both processes', countApplied, 8)
    await writeFile(prices(), PRICES)
  })

  it('answers many reloads at once without a warning of Node.js', async () => {
    const answers = await Promise.all(Array.from({ length: 12 }, () => askService(socket(), 'reload')))
    expect(new Set(answers).size).toBe(1)
    expect(running.output()).not.toContain('Warning')
  })

  it('leaves no connection without an answer when a process hangs and is killed', async () => {
    const pids = childrenOf(running.pid)
    expect(pids).toHaveLength(2)
    process.kill(pids[0] ?? 0, 'SIGSTOP')
    let answered = 0
    const getOrFail = () =>
      getHealth().then(
        (status) => ((answered += 1), status),
        () => 'reset',
      )
    const answers = Array.from({ length: 10 }, getOrFail)
    // The process that hangs has one connection. It gets no other one before it confirms the first.
    await waitForValue('the other answers', () => answered, 9)
    process.kill(pids[0] ?? 0, 'SIGKILL')
    expect((await Promise.all(answers)).toSorted()).toEqual([...Array<number>(9).fill(200), 'reset'])
  })

  it('replaces a process that was killed, serves meanwhile, and keeps what it has counted', async () => {
    await waitUntil(
      'the log',
      () => running.output(),
      (output) => output.includes('process.ended'),
    )
    expect(await countHealth()).toBe(19)
    expect(await getHealth()).toBe(200)
    expect(await countHealth()).toBe(20)
    expect(await readCount(/^svc_events_total\{event="process\.ended"\} (\d+)$/m)).toBe(1)
    await waitForValue('a third start', countListening, 3)
    expect(childrenOf(running.pid)).toHaveLength(2)
  })

  it('keeps new connections until killed processes are replaced, although both files were broken after the start', async () => {
    await writeFile(file(), 'organizations: [{ name: acme, teams: [{ name: core }] }]')
    await askService(socket(), 'reload')
    const listening = countListening()
    await writeFile(file(), 'organizations: 7')
    await writeFile(prices(), '{')
    for (const pid of childrenOf(running.pid)) process.kill(pid, 'SIGKILL')
    await waitUntil(
      'the ends',
      () => childrenOf(running.pid),
      (pids) => pids.length === 0,
    )
    expect(await getHealth()).toBe(200)
    await waitForValue('both starts', countListening, listening + 2)
    const pids = childrenOf(running.pid)
    for (const ofOne of pids.map(linesOf)) {
      expect(ofOne.match(/"(directory|prices)\.\w+"/g)).toEqual(['"prices.rejected"', '"directory.rejected"'])
      expect(ofOne).toMatch(/"teams":1,.*"service\.listening"/)
    }
  })

  it('replaces a process although the files of a setting and of a credential were removed after the start', async () => {
    await writeFile(prices(), PRICES)
    const backend = `{ name: one, dialects: [chat], url: 'https://a.example', credential: { file: '${secret()}' } }`
    await writeFile(file(), `organizations: [{ name: acme, teams: [{ name: core }] }]\nbackends: [${backend}]`)
    await askService(socket(), 'reload')
    await rm(secret())
    const listening = countListening()
    const pids = childrenOf(running.pid)
    process.kill(pids[0] ?? 0, 'SIGKILL')
    await waitForValue('the next start', countListening, listening + 1)
    const ofNext = linesOf(childrenOf(running.pid).find((pid) => !pids.includes(pid)))
    expect(ofNext).toMatch(/SVC_UPSTREAM_BEARER_TOKEN_FILE: the file .* does not exist.*"settings\.rejected"/)
    expect(ofNext).toContain('"directory.rejected"')
    expect(ofNext).toContain('"backend.credential_missing"')
    expect(running.output()).not.toContain('sk-of-a-backend')
  })

  it('closes new connections while no process may open a file, and serves again afterwards', async () => {
    const pids = childrenOf(running.pid)
    for (const pid of pids) limitFiles(pid, 1)
    const answers = Array.from({ length: 6 }, () => getHealth().catch(() => 'closed'))
    expect(await withDeadline('the connections to close', Promise.all(answers))).toEqual(Array(6).fill('closed'))
    for (const pid of pids) limitFiles(pid, 1024)
    for (let count = 0; count < 4; count++) expect(await getHealth()).toBe(200)
  })

  it('stops all processes with one signal, and closes idle connections', async () => {
    const pids = childrenOf(running.pid)
    const idle = await Promise.all(Array.from({ length: 4 }, openIdle))
    const { code, stdout } = await running.stop()
    expect(code).toBe(0)
    await withDeadline('idle connections to close', Promise.all(idle.map(({ closed }) => closed)))
    expect(stdout.match(/"service\.stopped"/g)).toHaveLength(2)
    expect(pids.filter(isAlive)).toEqual([])
  })

  // It waits for the starts of several processes, one after another.
  it('with a database, replaces a process although the file was broken, and stops while one waits', async () => {
    await using postgres = await startPostgres()
    await writeFile(file(), 'organizations: [{ name: acme, teams: [{ name: core }] }]')
    const url = (await postgres.newDatabase()).reveal()
    const port = String(await freePort())
    const env = { SVC_ROLE: 'control-plane', SVC_PROCESSES: '2', SVC_PORT: port, SVC_STOP_SECONDS: '1' }
    await using service = await startProcess({ ...env, SVC_DATABASE_URL: url, SVC_DIRECTORY_FILE: file() })
    const listening = () => [...service.output().matchAll(/"teams":1,.*"service\.listening"/g)].length
    await waitForValue('both starts', listening, 2)
    await writeFile(file(), 'organizations: 7')
    process.kill(childrenOf(service.pid)[0] ?? 0, 'SIGKILL')
    await waitForValue('the next start', listening, 3)
    expect(service.output().match(/"directory\.rejected"/g)).toHaveLength(1)

    await postgres.freeze()
    const [pid] = childrenOf(service.pid)
    process.kill(pid ?? 0, 'SIGKILL')
    await waitForValue('the next process', () => childrenOf(service.pid).filter((one) => one !== pid).length, 2)
    const { code, stdout } = await service.stop()
    postgres.thaw()
    expect(code).toBe(0)
    expect(stdout).not.toContain('process.killed')
  }, 180_000)

  it('reports a start that fails once', async () => {
    const env = { SVC_ROLE: 'gateway', SVC_PROCESSES: '2', SVC_DIRECTORY_FILE: `${folder.path}/none.yaml` }
    const { code, stderr } = await refusedStart({ ...env, SVC_GATEWAY_KEYS_FILE: `${folder.path}/other.json` })
    expect(code).toBe(1)
    expect(stderr.match(/was not applied/g)).toHaveLength(1)
    expect(stderr).toContain(`${folder.path}/none.yaml`)
  })

  it('leaves no management socket behind when another process has the port', async () => {
    const left = path.join(folder.path, 'refused.sock')
    const other = createServer()
    const port = await listenOnLoopback(other)
    const env = { SVC_ROLE: 'gateway', SVC_PROCESSES: '2', SVC_PORT: String(port) }
    const keys = { SVC_CONTROL_PLANE_URL: 'http://127.0.0.1:9', SVC_GATEWAY_KEYS_FILE: `${folder.path}/refused.json` }
    const { code, stderr } = await refusedStart({ ...env, ...keys, SVC_MANAGEMENT_SOCKET: left })
    other.close()
    expect(code).toBe(1)
    expect(stderr).toContain('Another process listens there.')
    expect(existsSync(left)).toBe(false)
  })
})

/** What a process has logged. Another one may still write what it did before. */
function linesOf(pid: number | undefined): string {
  const lines = running.output().split('\n')
  return lines.filter((line) => line.includes(`"pid":${pid},`)).join('\n')
}

/** The processes below one (Linux, proc(5)). */
function childrenOf(pid: number): number[] {
  const text = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8')
  return text.split(' ').filter(Boolean).map(Number)
}

/** Limits how many files a running process may open (prlimit(1)). It keeps those that are open. */
function limitFiles(pid: number, max: number): void {
  execFileSync('prlimit', ['--pid', String(pid), `--nofile=${max}:`])
}

function isAlive(pid: number): boolean {
  return existsSync(`/proc/${pid}`)
}
