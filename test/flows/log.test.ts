import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { text } from 'node:stream/consumers'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { withDeadline } from '../support/wait.ts'

const run = promisify(execFile)

/** The arguments with which Node runs statements that have a `log`. */
function argumentsOf(statements: string): string[] {
  const module = new URL('../../src/log.ts', import.meta.url).href
  const program = `import { openLog } from ${JSON.stringify(module)}\nconst log = await openLog('info')\n${statements}`
  return ['--input-type=module', '--eval', program]
}

/** Runs statements with a `log` in a process of their own, whose stdout is a pipe, and reads the lines of its log. */
async function linesOf(statements: string): Promise<{ msg: string; text?: string; link?: string }[]> {
  const { stdout } = await run(process.execPath, argumentsOf(statements))
  return stdout
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line))
}

it('writes the collected lines when the process exits at once', async () => {
  const lines = await linesOf(`for (const n of [1, 2, 3]) log.info({}, 'line.' + n)\nprocess.exit(0)`)
  expect(lines.map(({ msg }) => msg)).toEqual(['line.1', 'line.2', 'line.3'])
})

it('writes the collected lines when the process has nothing left to do', async () => {
  const lines = await linesOf(`for (let n = 1; n <= 500; n++) log.info({ text: 'x'.repeat(90) }, 'line.' + n)`)
  expect(lines.map(({ msg }) => msg)).toEqual(Array.from({ length: 500 }, (_, at) => `line.${at + 1}`))
})

it('has written all lines when it is closed', async () => {
  const lines = await linesOf(
    `log.info({}, 'first')\nif (await log.close()) log.info({}, 'closed')\nprocess.reallyExit(0)`,
  )
  expect(lines.map(({ msg }) => msg)).toEqual(['first'])
})

it('leaves no timer that keeps the process alive when it is closed', async () => {
  const [line] = await linesOf(
    `await log.close()\nconst timers = process.getActiveResourcesInfo().filter((each) => each === 'Timeout')
     log.info({ text: String(timers.length) }, 'closed')`,
  )
  expect(line).toMatchObject({ msg: 'closed', text: '0' })
})

it('removes secrets from lines, except from a link that is shown on purpose, and keeps their order', async () => {
  const secret = `svcm_${'a'.repeat(43)}`
  const lines = await linesOf(
    `log.info({ text: 'x ${secret}' }, 'before')
     log.showLink({ link: 'https://svc.test/?token=${secret}', file: 'mail.eml' }, 'shown')
     log.info({ text: '${secret}' }, 'after')`,
  )
  expect(lines).toEqual([
    expect.objectContaining({ msg: 'before', text: 'x [secret]' }),
    expect.objectContaining({ msg: 'shown', link: `https://svc.test/?token=${secret}` }),
    expect.objectContaining({ msg: 'after', text: '[secret]' }),
  ])
})

it('removes tokens from a line within a second, however many of their beginnings it has', async () => {
  const header = `eyJ${'a'.repeat(150)}`
  const lines = await linesOf(
    `const started = process.cpuUsage().user
     log.info({ text: 'eyJ'.repeat(20_000) + ' ${header}.b.c' }, 'many')
     await log.close()
     log.info({ text: String((process.cpuUsage().user - started) / 1e6) }, 'seconds')`,
  )
  expect(lines[0]?.text?.endsWith('eyJ [secret]')).toBe(true)
  expect(Number(lines[1]?.text)).toBeLessThan(1)
})

// A device of Linux at which each write fails like that of a full disk.
const FULL = '/dev/full'
const END_TIMEOUT_MS = 20_000

it.runIf(existsSync(FULL))('lets the process go on, and end, while its disk is full', async () => {
  await using full = await open(FULL, 'w')
  const statements = `log.info({}, 'line')
    await new Promise((resolve) => setTimeout(resolve, 300))
    log.info({}, 'another line')
    await log.close()
    process.stderr.write('still here')
    process.exit(0)`
  const child = spawn(process.execPath, argumentsOf(statements), { stdio: ['ignore', full.fd, 'pipe'] })
  const ended = once(child, 'exit')
  const written = child.stderr ? text(child.stderr) : ''
  await withDeadline('the process to end', ended, END_TIMEOUT_MS).finally(() => child.kill('SIGKILL'))
  expect([await ended, await written]).toEqual([[0, null], 'still here'])
})
