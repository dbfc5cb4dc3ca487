import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { mailTokenOf, people } from '../support/people.ts'
import { json } from '../support/requests.ts'
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
