import { describe, expect, it } from 'vitest'
import { bytes, json, outcomeOf } from './requests.ts'
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
