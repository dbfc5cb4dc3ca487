import { describe, expect, it } from 'vitest'
import { startService } from './service.ts'

/** A case for each status of an operation that gives a file to browsers. */
export function describeAsset(operationId: string, path: string, type: RegExp, content: RegExp): void {
  describe(operationId, () => {
    describe('200', () => {
      it('gives the file, to keep for a while and for this site alone', async () => {
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
      it('sends no file to a browser that has it, and the file to one that has another', async () => {
        await using service = await startService()
        const etag = (await service.fetch(path)).headers.get('etag') ?? ''
        const again = await service.fetch(path, { headers: { 'if-none-match': `"other", W/${etag}` } })
        expect([again.status, await again.text()]).toEqual([304, ''])
        expect((await service.fetch(path, { headers: { 'if-none-match': '"other"' } })).status).toBe(200)
      })
    })
  })
}
