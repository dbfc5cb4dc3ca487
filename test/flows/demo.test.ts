import { spawn } from 'node:child_process'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
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
async function startDemo(folder: string) {
  const port = String(await freePort())
  const child = spawn(process.execPath, [path.join(ROOT, 'src/start.js'), 'demo'], {
    cwd: folder,
    env: { ...START_ENV, SVC_PORT: port },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const written = { stdout: '', stderr: '' }
  child.stdout.setEncoding('utf8').on('data', (text: string) => void (written.stdout += text))
  child.stderr.setEncoding('utf8').on('data', (text: string) => void (written.stderr += text))
  const ended = new Promise<Ended>((resolve) => child.once('close', (code) => resolve({ code, ...written })))
  return { baseUrl: `http://localhost:${port}`, child, written, ended }
}

describe('the demo', () => {
  // One process, because its start takes seconds of CPU time. `--once` is a step of `.ci/run`.
  it('logs in, calls the model in each dialect without printing a secret, then serves and prints links of emails', async () => {
    await using folder = await newFolder()
    const { baseUrl, child, written, ended } = await startDemo(folder.path)
    await waitForValue('the tour', () => written.stdout.includes('Press Ctrl-C to stop it.'), true, {
      timeoutMs: 120_000,
    })
    const [tour = ''] = written.stdout.split('Every step worked.')
    const echoed = 'Echo engine: you said "Hello from the demo, what do you say?".'
    expect(tour.split(echoed)).toHaveLength(5)
    expect(tour).toContain('/outbox/')
    expect(tour).not.toMatch(/eyJ[\w-]{12}|svc[dr]_[\w-]{12}/)

    const links = () => written.stdout.split('/sign-in/email?token=').length - 1
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
