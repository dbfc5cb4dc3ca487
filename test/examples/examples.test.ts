import { execFile, spawn } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { curlSteps, sdkVariables } from '../../src/docs/getting-started.ts'
import { startEngine } from '../support/engine.ts'
import type { TestEngine } from '../support/engine.ts'
import { startService } from '../support/service.ts'
import type { TestService } from '../support/service.ts'

/** The programs reach the service directly, not through a proxy of this machine. */
const ENVIRONMENT = { ...process.env, no_proxy: '*' }

let engine: TestEngine
let service: TestService
let folder: string

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'svc-examples-'))
  engine = await startEngine()
  service = await startService({
    env: { SVC_LOCAL_ENGINE_URL: engine.url.href, SVC_POLL_INTERVAL_SECONDS: '1' },
  })
})
afterAll(async () => {
  await service[Symbol.asyncDispose]()
  await engine[Symbol.asyncDispose]()
  await rm(folder, { recursive: true })
})

/**
 * Runs an example and returns what it prints. Approves its login by email when it shows the code. Rejects with its
 * error output when it fails.
 */
function run(name: string, env: Record<string, string> = {}): Promise<string> {
  const file = path.join(import.meta.dirname, name)
  const command = name.endsWith('.sh') ? 'bash' : process.execPath
  const child = spawn(command, [file], { env: { ...ENVIRONMENT, SVC_BASE_URL: service.origin, ...env } })
  let printed = ''
  let errorOutput = ''
  return new Promise((resolve, reject) => {
    const approve = (text: string) => {
      if (text.includes('compare the code')) service.approveByMail('ada@example.com').catch(reject)
    }
    child.stdout.on('data', (data: Buffer) => {
      printed += data.toString()
      approve(data.toString())
    })
    child.stderr.on('data', (data: Buffer) => {
      errorOutput += data.toString()
      approve(data.toString())
    })
    child.on('error', reject)
    child.on('close', (code) => (code === 0 ? resolve(printed) : reject(new Error(`${name}: ${errorOutput}`))))
  })
}

const token = async () => (await service.signIn('ada@example.com', { deviceId: 'other-clients' })).accessToken

describe('the example', () => {
  it('with the SDK logs in and calls two dialects', async () => {
    const printed = await run('sdk.ts', { SVC_TOKENS: path.join(folder, 'tokens.json') })
    expect(printed).toMatch(
      /compare the code: [A-Z]{4}-[A-Z]{4}\n.*svc\/fast.*\nHello!\nHello!\nThe message is complete\.\n$/,
    )
  })

  it.each(['openai.ts', 'anthropic.ts'])('%s streams an answer', async (name) => {
    expect(await run(name, { SVC_TOKEN: await token() })).toBe('Hello!')
  })

  it('with curl prints a valid access token', async () => {
    const accessToken = (await run('device-login.sh')).trim()
    const { response } = await service.clientOf(accessToken).GET('/v1/models')
    expect(response.status).toBe(200)
  })
})

describe('the curl commands of /docs', () => {
  it('start a login, poll for its tokens, call a model and refresh the tokens', async () => {
    const [start, poll, call, refresh] = curlSteps({ baseUrl: service.origin, gatewayUrl: service.origin })
    const { deviceCode } = await curl(start?.command)
    await service.approveByMail('ada@example.com')
    const { accessToken, refreshToken } = await curl(poll?.command, { DEVICE_CODE: String(deviceCode) })
    expect(await curl(call?.command, { ACCESS_TOKEN: String(accessToken) })).toMatchObject({ model: 'svc/fast' })
    const refreshed = await curl(refresh?.command, { REFRESH_TOKEN: String(refreshToken) })
    expect(refreshed).toMatchObject({ account: 'ada@example.com', refreshToken: expect.any(String) })
  })

  async function curl(command = '', env: Record<string, string> = {}): Promise<Record<string, unknown>> {
    const { stdout } = await promisify(execFile)('bash', ['-c', command], { env: { ...ENVIRONMENT, ...env } })
    // The commands print an answer of the service, which is JSON.
    return JSON.parse(stdout) as Record<string, unknown>
  }
})

describe('the variables of /docs', () => {
  it.each([
    ['openai', 'new Sdk().chat.completions.create({ model, messages })'],
    ['@anthropic-ai/sdk', 'new Sdk().messages.create({ model, messages, max_tokens: 64 })'],
  ])('let the package %s call a model', async (sdk, call) => {
    const program = `
      const model = 'svc/fast', messages = [{ role: 'user', content: 'Hello' }]
      const { default: Sdk } = await import('${sdk}')
      console.log((await ${call}).model)`
    const variables = sdkVariables({ baseUrl: service.origin, gatewayUrl: service.origin })
    const script = `${variables}\nexec "$NODE" --input-type=module --eval "$PROGRAM"`
    const env = { ...ENVIRONMENT, SVC_API_KEY: await token(), NODE: process.execPath, PROGRAM: program }
    const { stdout } = await promisify(execFile)('bash', ['-c', script], { env })
    expect(stdout).toBe('svc/fast\n')
  })
})
