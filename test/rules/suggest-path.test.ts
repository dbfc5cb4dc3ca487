import { describe, expect, it } from 'vitest'
import { readContract } from '../../src/http/contract.ts'
import { makeSuggestPath } from '../../src/http/suggest-path.ts'

const suggestPath = makeSuggestPath(Object.keys(readContract().paths))

describe('the path that a client with a wrong base URL means', () => {
  it.each([
    ['/chat/completions', '/v1/chat/completions'],
    ['/v1/v1/chat/completions', '/v1/chat/completions'],
    ['/v1//chat/completions/', '/v1/chat/completions'],
    ['/codex/v1/chat/completions', '/v1/chat/completions'],
    ['/completions', '/v1/completions'],
    ['/responses', '/v1/responses'],
    ['/codex/responses', '/codex/v1/responses'],
    ['/api/codex/v1/responses', '/codex/v1/responses'],
    ['/messages', '/v1/messages'],
    ['/vendorb/messages', '/vendorb/v1/messages'],
    ['/vendorb/v1/v1/messages', '/vendorb/v1/messages'],
    ['/vendorb/v1/v1/messages/count_tokens', '/vendorb/v1/messages/count_tokens'],
    ['/models', '/v1/models'],
  ])('of %s is %s', (given, path) => {
    expect(suggestPath(given)).toBe(path)
  })

  it('ends alike in most segments, also where another one has more of the segments', () => {
    expect(makeSuggestPath(['/p/q/x/c', '/b/c'])('/p/q/b/c')).toBe('/b/c')
  })

  it('has no parameters', () => {
    expect(makeSuggestPath(['/v1/teams/{team}/usage'])('/usage')).toBe(null)
  })

  it.each(['/', '/v1', '/v1/models/svc/fast', '/v1/responses/input_tokens', '/v1/messages/batches'])(
    'of %s is not known',
    (given) => {
      expect(suggestPath(given)).toBe(null)
    },
  )
})
