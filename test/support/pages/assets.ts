import { describe, expect, it } from 'vitest'
import { startService } from '../service.ts'

/** The tests of an operation that serves a static file: one for each documented status. */
export function describeAsset(operationId: string, path: string, type: RegExp, content: RegExp): void {
  describe(operationId, () => {
    describe('200', () => {
      it('serves the file with a cache lifetime, for use by the same origin only', async () => {
        await using service = await startService()
        const response = await service.fetch(`${path}?v=1`)
        expect(response.status).toBe(200)
        expect(response.headers.get('content-type')).toMatch(type)
        expect(response.headers.get('cache-control')).toMatch(/^public, max-age=\d+$/)
        expect(response.headers.get('x-content-type-options')).toBe('nosniff')
        expect(response.headers.get('cross-origin-resource-policy')).toBe('same-origin')
        expect(await response.text()).toMatch(content)
      })
    })

    describe('304', () => {
      it('sends no body when If-None-Match has the current ETag, and the file when it has another', async () => {
        await using service = await startService()
        const etag = (await service.fetch(path)).headers.get('etag') ?? ''
        const again = await service.fetch(path, { headers: { 'if-none-match': `"other", W/${etag}` } })
        expect([again.status, await again.text()]).toEqual([304, ''])
        expect((await service.fetch(path, { headers: { 'if-none-match': '"other"' } })).status).toBe(200)
      })
    })
  })
}

/** Checks that requests for a public document count for the limit of their network, which may send two a minute. */
export async function expectRequestLimit(path: string): Promise<void> {
  await using service = await startService({ env: { SVC_LIMIT_REQUESTS_PER_MINUTE: '2' } })
  const statuses: number[] = []
  for (let count = 0; count < 3; count++) statuses.push((await service.fetch(path)).status)
  expect(statuses).toEqual([200, 200, 429])
  expect((await service.fetch('/healthz')).status).toBe(200)
}
