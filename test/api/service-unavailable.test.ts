import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { readContract, routesOf } from '../../src/http/contract.ts'
import type { Route } from '../../src/http/contract.ts'
import type { OperationId } from '../../src/http/operation.ts'
import { mailTokenOf } from '../support/people.ts'
import { bearerOf, json, outcomeOf } from '../support/requests.ts'
import { startService } from '../support/service.ts'
import type { TestService } from '../support/service.ts'

/** The operations whose contract has 503 service_unavailable. Readiness has its own format. */
const operations = routesOf(readContract()).filter(
  ({ id, operation }) => '503' in operation.responses && id !== 'getReadiness',
)

describe('without its database', () => {
  let service: TestService
  /** Bodies for operations whose example in the contract is refused before the database is used. */
  const bodies: Partial<Record<OperationId, unknown>> = {}
  const forms: Partial<Record<OperationId, Readonly<Record<string, string>>>> = {}
  let accessToken: string
  let cookie: string

  beforeAll(async () => {
    service = await startService()
    const signedIn = await service.signIn('ada@example.com')
    accessToken = signedIn.accessToken
    bodies.refreshTokens = { account: 'ada@example.com', refreshToken: signedIn.refreshToken }
    forms.revokeOAuthToken = { token: signedIn.refreshToken }
    await service.startLogin('ada@example.com')
    const approved = await service.fetch(
      '/v1/auth/magic/consume',
      json({ token: mailTokenOf(service, 'ada@example.com') }),
    )
    cookie = approved.headers.getSetCookie()[0]?.split(';')[0] ?? ''
    await service.database.close()
  })
  afterAll(() => service[Symbol.asyncDispose]())

  it.each(operations)('$id answers 503 service_unavailable to a device', async (route) => {
    const response = await service.fetch(pathOf(route), requestOf(route, bearerOf(accessToken)))
    expect(await outcomeOf(response)).toBe(unavailableOf(route))
  })

  it.each(operations.filter(takesCookies))('$id answers 503 service_unavailable to a browser', async (route) => {
    const response = await service.fetch(pathOf(route), requestOf(route, { cookie }))
    expect(await outcomeOf(response)).toBe('503 service_unavailable')
  })

  it('pages answer browsers with 503', async () => {
    const response = await service.fetch('/v1/auth/magic/consume?token=svcm_x', { headers: { accept: 'text/html' } })
    expect(response.status).toBe(503)
    expect(response.headers.get('content-type')).toContain('text/html')
  })

  it('answers contain no message of the database', async () => {
    const response = await service.fetch('/v1/auth/device/poll', json({ deviceCode: 'a' }))
    expect(await response.text()).not.toMatch(/prisma|pglite|postgres|closed|stack|\.ts/i)
  })

  function requestOf({ id, method, operation }: Route, headers: Record<string, string>): RequestInit {
    const sent = { method: method.toUpperCase(), headers }
    const form = exampleOf(operation, 'application/x-www-form-urlencoded')
    if (form) return { ...sent, body: new URLSearchParams({ ...form, ...forms[id] }) }
    const body = bodies[id] ?? exampleOf(operation, 'application/json')
    return body === undefined ? sent : { ...json(body, headers), method: sent.method }
  }
})

function pathOf({ id, path }: Route): string {
  const filled = path.replace('{team}', '%40acme%2Fcore').replaceAll(/\{\w+\}/g, '01939c1e-6a5b-7c3d-8e4f-0a1b2c3d4e5f')
  return id === 'showMagicLink' || id === 'showSignInLink' ? `${filled}?token=svcm_some` : filled
}

/** The OAuth operations have the code of their standard. */
function unavailableOf({ path }: Route): string {
  return path.startsWith('/oauth/') ? '503 temporarily_unavailable' : '503 service_unavailable'
}

function takesCookies({ operation }: Route): boolean {
  const { security = [] } = operation as { security?: readonly object[] }
  return security.some((scheme) => 'SessionCookie' in scheme)
}

/** The example of a body in the contract. */
function exampleOf({ requestBody }: Route['operation'], type: string): Record<string, string> | undefined {
  const content = requestBody?.content[type] as { example?: Record<string, string> } | undefined
  return content?.example
}
