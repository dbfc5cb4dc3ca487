import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { mailTokenOf, people } from '../support/people.ts'
import { form, json } from '../support/requests.ts'
import { startService } from '../support/service.ts'
import type { TestService } from '../support/service.ts'

const persons = people()
let service: TestService

beforeAll(async () => {
  service = await startService({ directory: persons.directory, env: { SVC_TRUST_PROXY: 'loopback' } })
})
afterAll(() => service[Symbol.asyncDispose]())

/** Starts a login through a trusted proxy that passes this `X-Forwarded-For` on; the place that email and page name. */
async function addressesOf(forwardedFor: string): Promise<{ email: string | undefined; page: string | undefined }> {
  const email = persons.next()
  const body = { email, deviceId: 'laptop-1', deviceName: 'Laptop' }
  const headers = { 'x-forwarded-for': forwardedFor }
  const started = await service.fetch('/v1/auth/device/start', json(body, headers))
  expect(started.status).toBe(202)
  const path = `/v1/auth/magic/consume?token=${mailTokenOf(service, email)}`
  const page = await (await service.fetch(path, { headers: { accept: 'text/html' } })).text()
  return {
    email: /^Place: +(.*)$/m.exec(service.mailbox.newest(email).text)?.[1]?.trim(),
    page: /<span class="ip">([^<]*)<\/span>/.exec(page)?.[1],
  }
}

describe('the place of a login behind a trusted proxy', () => {
  it('is the address that the proxy names, without its port', async () => {
    for (const forwarded of ['203.0.113.7', '203.0.113.7:4711', 'evil.test, 203.0.113.7'])
      expect(await addressesOf(forwarded)).toEqual({ email: '203.0.113.7', page: '203.0.113.7' })
    expect(await addressesOf('[2001:db8::7]:4711')).toEqual({ email: '2001:db8::7', page: '2001:db8::7' })
  })

  it('is the proxy’s own address when the header names none', async () => {
    for (const junk of ['your IT department, call 555-0100', 'https://evil.test/', 'unknown'])
      expect(await addressesOf(junk)).toEqual({ email: '127.0.0.1', page: '127.0.0.1' })
  })
})

describe('the limit of a network behind a trusted proxy', () => {
  let limited: TestService
  let networks = 0
  beforeAll(async () => {
    const limits = { SVC_LIMIT_STARTS_PER_IP: '1', SVC_LIMIT_REQUESTS_PER_MINUTE: '1' }
    limited = await startService({ directory: persons.directory, env: { SVC_TRUST_PROXY: 'loopback', ...limits } })
  })
  afterAll(() => limited[Symbol.asyncDispose]())

  it.each<[path: string, request: (headers: Record<string, string>) => RequestInit]>([
    ['/v1/auth/device/start', (headers) => json({ email: persons.next(), deviceId: 'laptop-1' }, headers)],
    ['/v1/auth/passkeys/login/start', (headers) => json({}, headers)],
    ['/sign-in', (headers) => form({ email: persons.next() }, headers)],
    ['/v1/models', (headers) => ({ headers })],
    ['/v1/metrics', (headers) => ({ method: 'POST', headers })],
    ['/.well-known/opencode', (headers) => ({ headers })],
    ['/docs', (headers) => ({ headers })],
    ['/docs/docs.css', (headers) => ({ headers })],
    ['/openapi.json', (headers) => ({ headers })],
  ])('counts the addresses of one IPv6 network together: %s', async (path, request) => {
    const network = `2001:db8:0:${++networks}`
    const statuses: number[] = []
    for (const address of [`${network}::1`, `${network}::2`])
      statuses.push((await limited.fetch(path, request({ 'x-forwarded-for': address }))).status)
    expect(statuses[0]).not.toBe(429)
    expect(statuses[1]).toBe(429)
  })
})
