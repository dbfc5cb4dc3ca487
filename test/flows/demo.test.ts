import { spawn } from 'node:child_process'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { takeTour } from '../../src/cli/demo/tour.ts'
import { OperatorError } from '../../src/kernel/operator-error.ts'
import { ROOT } from '../support/source/documents.ts'
import { freePort } from '../support/loopback.ts'
import { linkOf } from '../support/mailbox.ts'
import { newFolder, START_ENV } from '../support/process.ts'
import type { Ended } from '../support/process.ts'
import { startService } from '../support/service.ts'
import { waitForValue } from '../support/wait.ts'

/** Starts `svc demo` in a folder. `written` is what it has written so far. */
async function startDemo(folder: string, { args = [], env = {} }: { args?: string[]; env?: Record<string, string> }) {
  const port = String(await freePort())
  const child = spawn(process.execPath, [path.join(ROOT, 'src/start.js'), 'demo', ...args], {
    cwd: folder,
    env: { ...START_ENV, SVC_PORT: port, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const written = { stdout: '', stderr: '' }
  child.stdout.setEncoding('utf8').on('data', (text: string) => void (written.stdout += text))
  child.stderr.setEncoding('utf8').on('data', (text: string) => void (written.stderr += text))
  const ended = new Promise<Ended>((resolve) => child.once('close', (code) => resolve({ code, ...written })))
  return { baseUrl: `http://localhost:${port}`, child, written, ended }
}

describe('the demo', () => {
  // The second run finds the database of the first one, which takes less time than making another.
  let folder: Awaited<ReturnType<typeof newFolder>>
  beforeAll(async () => {
    folder = await newFolder()
  })
  afterAll(() => folder[Symbol.asyncDispose]())

  it('logs in, calls the model in each dialect, prints every step without a secret, and ends', async () => {
    const { code, stdout, stderr } = await (await startDemo(folder.path, { args: ['--once'] })).ended
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    const echoed = 'Echo engine: you said "Hello from the demo, what do you say?".'
    expect(stdout.split(echoed)).toHaveLength(5)
    expect(stdout).toMatch(/Every step worked\.\n$/)
    expect(stdout).toContain('/outbox/')
    expect(stdout).not.toMatch(/eyJ[\w-]{12}|svc[dr]_[\w-]{12}/)
  }, 180_000)

  it('keeps serving, and prints the links of its emails', async () => {
    const { baseUrl, child, written, ended } = await startDemo(folder.path, {})
    const links = () => written.stdout.split('/sign-in/email?token=').length - 1
    await waitForValue('the tour', () => written.stdout.includes('Press Ctrl-C to stop it.'), true, {
      timeoutMs: 120_000,
    })
    expect(links()).toBe(0)
    const asked = await fetch(`${baseUrl}/sign-in`, {
      method: 'POST',
      headers: { origin: baseUrl },
      body: new URLSearchParams({ email: 'ada@example.com' }),
    })
    expect(asked.status).toBe(200)
    await waitForValue('the printed link', links, 1)
    child.kill('SIGINT')
    expect(await ended).toMatchObject({ code: 0, stderr: '' })
  }, 180_000)

  it('says which step failed', async () => {
    await using service = await startService({ env: { SVC_LOCAL_ENGINE_URL: 'http://127.0.0.1:1' } })
    const email = 'ada@example.com'
    const lastEmail = () => ({ file: 'outbox/1.eml', link: linkOf(service.mailbox.newest(email)).href })
    const tour = takeTour({ baseUrl: service.origin, email, lastEmail, print: () => undefined })
    await expect(tour).rejects.toThrow(/^POST \/v1\/chat\/completions .*answered 503: .*model_unavailable/)
    // Its message is printed without a stack, and the command ends with status 1.
    await expect(tour).rejects.toBeInstanceOf(OperatorError)
  })
})
