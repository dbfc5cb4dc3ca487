import { describe, expect, it } from 'vitest'
import { closeTarget, openTarget, routeGroupOf, targetPath } from '../../src/gateway/upstream/targets.ts'

describe('the path of an upstream call', () => {
  it.each([
    // url of the upstream, path of the contract, url of the caller, path on the wire
    ['https://a.example', '/v1/chat/completions', '/v1/chat/completions', '/v1/chat/completions'],
    ['https://a.example/', '/v1/responses', '/v1/responses', '/v1/responses'],
    ['https://a.example/proxy', '/v1/responses', '/v1/responses', '/proxy/v1/responses'],
    ['https://a.example/proxy/', '/v1/responses', '/v1/responses', '/proxy/v1/responses'],
    ['https://a.example/a/b//', '/v1/responses', '/v1/responses', '/a/b/v1/responses'],
    ['https://b.example', '/vendorb/v1/messages', '/vendorb/v1/messages', '/v1/messages'],
    ['https://b.example', '/vendorb/v1/messages', '/vendorb/v1/messages?beta=true', '/v1/messages?beta=true'],
    [
      'https://b.example/api',
      '/vendorb/v1/messages',
      '/vendorb/v1/messages?a=1&a=%2F&b=',
      '/api/v1/messages?a=1&a=%2F&b=',
    ],
    ['https://c.example', '/codex/v1/responses', '/codex/v1/responses', '/v1/responses'],
    [
      'https://c.example/backend-api/codex',
      '/codex/v1/responses',
      '/codex/v1/responses?x',
      '/backend-api/codex/v1/responses?x',
    ],
    ['https://c.example', '/codex/v1/responses', '/codex/v1/responses?q=a?b', '/v1/responses?q=a?b'],
  ])('%s with %s asked as %s becomes %s', async (url, path, callerUrl, expected) => {
    const target = openTarget(
      'vendora',
      { url: new URL(url), bearer: null, apiKey: null },
      { connectTimeoutMs: 1000, idleTimeoutMs: 1000 },
    )
    expect(targetPath(target, path, callerUrl)).toBe(expected)
    await closeTarget(target)
  })

  it.each([
    ['absolute form', 'http://evil.example/v1/admin?x=1', '/v1/responses?x=1'],
    ['dots', '/v1/../v1/admin', '/v1/responses'],
    ['a slash at the end', '/v1/responses/', '/v1/responses'],
    ['a query that looks like a path', '/v1/responses?/../../admin', '/v1/responses?/../../admin'],
  ])('no spelling of the caller reaches another route: %s', (_name, callerUrl, expected) => {
    expect(targetPath({ prefix: '' }, '/v1/responses', callerUrl)).toBe(expected)
  })

  it.each([
    ['/v1/chat/completions', 'vendora'],
    ['/vendorb/v1/messages', 'vendorb'],
    ['/codex/v1/responses', 'vendorc'],
  ])('%s goes to %s', (path, upstream) => {
    expect(routeGroupOf(path).upstream).toBe(upstream)
  })

  it('refuses a path of no group', () => {
    expect(() => routeGroupOf('/v2/chat')).toThrow('/v2/chat')
  })
})
