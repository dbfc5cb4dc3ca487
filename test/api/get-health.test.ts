import { describe, expect, it } from 'vitest'
import { ask } from '../support/requests.ts'
import { startService } from '../support/service.ts'

describe('getHealth', () => {
  describe('200', () => {
    it('answers ok with and without a database, and ignores credentials', async () => {
      await using service = await startService()
      const health = async () => {
        const response = await service.fetch('/healthz', { headers: { authorization: 'Bearer nonsense' } })
        return { status: response.status, body: (await response.json()) as unknown }
      }
      const ok = { status: 200, body: { status: 'ok' } }
      expect(await health()).toEqual(ok)
      await service.database.close()
      expect(await health()).toEqual(ok)
    })

    it('answers HEAD without a body', async () => {
      await using service = await startService()
      const { status, body } = await ask(service.port, { method: 'HEAD', path: '/healthz' })
      expect({ status, body }).toEqual({ status: 200, body: '' })
    })

    it('gives each request a different id', async () => {
      await using service = await startService()
      const [first, second] = [await service.fetch('/healthz'), await service.fetch('/healthz')]
      expect(first.headers.get('x-request-id')).toMatch(/^req_/)
      expect(first.headers.get('request-id')).toBe(first.headers.get('x-request-id'))
      expect(second.headers.get('x-request-id')).not.toBe(first.headers.get('x-request-id'))
    })
  })
})
