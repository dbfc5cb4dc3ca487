import { describe, expect, it } from 'vitest'
import { bytes, json, outcomeOf, withMethod } from './requests.ts'
import type { TestService } from './service.ts'

type Given = {
  readonly service: () => TestService
  readonly method: 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  readonly path: string | (() => string)
  /** Headers that authenticate an allowed caller; null for an operation without authentication. */
  readonly by: (() => Record<string, string>) | null
  /** A valid body; absent for an operation without a body. */
  readonly body?: object
  /** The largest allowed body. */
  readonly limitBytes?: number
}

type Headers = Readonly<Record<string, string>>

/** An operation for the admins of a team, with a request that an admin may send. */
export type AdminOperation = {
  readonly id: string
  readonly method: 'GET' | Given['method']
  readonly path: string | (() => string)
  readonly body?: object
}

/** The service, and the headers of an admin and a member of the team and of an admin of another team. */
type Callers = {
  readonly service: TestService
  readonly admin: Headers
  readonly member: Headers
  readonly stranger: Headers
}

/**
 * The refusals that all operations for the admins of a team share: of other callers, and those of `describeRefusals`.
 */
export function describeAdminRefusals(operations: readonly AdminOperation[], callers: () => Callers): void {
  describe.each(operations)('$id', ({ method, path, body }) => {
    const send = (by: Headers) => {
      return callers().service.fetch(typeof path === 'string' ? path : path(), withMethod(method, by, body))
    }

    it('403: refuses members who are not admins', async () => {
      expect(await outcomeOf(await send(callers().member))).toBe('403 forbidden')
    })

    it('404: hides the team from admins of another team', async () => {
      expect(await outcomeOf(await send(callers().stranger))).toBe('404 not_found')
    })

    if (method === 'GET')
      it('401: refuses a request without a credential', async () => {
        expect(await outcomeOf(await send({}))).toBe('401 unauthorized')
      })
    else {
      const [service, by] = [() => callers().service, () => callers().admin]
      describeRefusals({ service, method, path, by, ...(body && { body }) })
    }
  })
}

/**
 * The refusals that all operations of the control plane share: malformed bodies, a missing credential, another origin.
 */
export function describeRefusals({ service, method, path, by, body, limitBytes = 16 * 1024 }: Given): void {
  const pathOf = () => (typeof path === 'string' ? path : path())
  const send = (init: RequestInit) => service().fetch(pathOf(), { ...init, method })
  const headers = () => by?.() ?? {}

  if (body) {
    describe('400', () => {
      it.each([
        ['an undeclared field', JSON.stringify({ ...body, surprise: 1 })],
        ['an array', '[]'],
        ['null', 'null'],
        ['invalid JSON', '{"a":'],
      ])('refuses %s', async (_name, text) => {
        expect(await outcomeOf(await send(bytes(text, 'application/json', headers())))).toBe('400 invalid_request')
      })
    })

    describe('413', () => {
      it(`refuses a body above ${limitBytes} bytes`, async () => {
        const large = { ...body, padding: 'x'.repeat(limitBytes) }
        expect(await outcomeOf(await send(json(large, headers())))).toBe('413 payload_too_large')
      })
    })

    describe('415', () => {
      it.each(['text/plain', 'application/x-www-form-urlencoded'])('refuses a body of the type %s', async (type) => {
        const sent = send(bytes(JSON.stringify(body), type, headers()))
        expect(await outcomeOf(await sent)).toBe('415 unsupported_media_type')
      })
    })
  }

  if (by) {
    describe('401', () => {
      it('refuses a request without a credential', async () => {
        const sent = send(body ? json(body) : {})
        expect(await outcomeOf(await sent)).toBe('401 unauthorized')
      })
    })
  }

  describe('403', () => {
    it('refuses a request from another origin', async () => {
      const from = { ...headers(), origin: 'https://evil.example' }
      const sent = send(body ? json(body, from) : { headers: from })
      expect(await outcomeOf(await sent)).toBe('403 forbidden')
    })
  })
}
