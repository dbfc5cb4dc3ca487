import { spawn } from 'node:child_process'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ROOT } from '../support/source/documents.ts'
import { freePort } from '../support/loopback.ts'
import { newFolder } from '../support/process.ts'
import type { Ended } from '../support/process.ts'

/** `svc demo --once` in an empty folder. */
async function runDemo(folder: string, env: Record<string, string> = {}): Promise<Ended> {
  const port = String(await freePort())
  const child = spawn(process.execPath, [path.join(ROOT, 'src/start.js'), 'demo', '--once'], {
    cwd: folder,
    env: { PATH: process.env['PATH'], NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'], SVC_PORT: port, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const written = { stdout: '', stderr: '' }
  child.stdout.setEncoding('utf8').on('data', (text: string) => void (written.stdout += text))
  child.stderr.setEncoding('utf8').on('data', (text: string) => void (written.stderr += text))
  return new Promise((resolve) => child.once('close', (code) => resolve({ code, ...written })))
}

describe('the demo', () => {
  // The second run finds the database of the first one, which takes less time than making another.
  let folder: Awaited<ReturnType<typeof newFolder>>
  beforeAll(async () => {
    folder = await newFolder()
  })
  afterAll(() => folder[Symbol.asyncDispose]())

  it('logs in, calls the model in each dialect, prints every step without a secret, and ends', async () => {
    const { code, stdout, stderr } = await runDemo(folder.path)
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    const echoed = 'Echo engine: you said "Hello from the demo, what do you say?".'
    expect(stdout.split(echoed)).toHaveLength(5)
    expect(stdout).toMatch(/Every step worked\.\n$/)
    expect(stdout).toContain('/outbox/')
    expect(stdout).not.toMatch(/eyJ[\w-]{12}|svc[dr]_[\w-]{12}/)
  }, 90_000)

  it('says which step failed, and ends with status 1', async () => {
    const { code, stderr } = await runDemo(folder.path, { SVC_LOCAL_ENGINE_URL: 'http://127.0.0.1:1' })
    expect(code).toBe(1)
    expect(stderr).toMatch(/^POST \/v1\/chat\/completions .*answered 503: .*model_unavailable/)
  }, 90_000)
})
