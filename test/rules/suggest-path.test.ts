import { describe, expect, it } from 'vitest'
import { readContract } from '../../src/http/contract.ts'
import { makePathHint, makeSuggestPath } from '../../src/http/suggest-path.ts'

const PATHS = Object.keys(readContract().paths)
const suggestPath = makeSuggestPath(PATHS)

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

  it.each([
    ['/v1/chat/completion', '/v1/chat/completions'],
    ['/chat/completion', '/v1/chat/completions'],
    ['/v1/chats/completions', '/v1/chat/completions'],
    ['/v1/chat/compeltions', '/v1/chat/completions'],
    ['/v1/completion', '/v1/completions'],
    ['/v1/response', '/v1/responses'],
    ['/codex/v1/response', '/codex/v1/responses'],
    ['/v1/message', '/v1/messages'],
    ['/vendorb/v1/mesages', '/vendorb/v1/messages'],
    ['/responses/input_tokens', '/v1/responses/input_tokens'],
    ['/v1/response/compact', '/v1/responses/compact'],
    ['/v1/messages/count_token', '/v1/messages/count_tokens'],
    ['/v1/embedding', '/v1/embeddings'],
    ['/v1/model', '/v1/models'],
  ])('of the misspelt %s is %s', (given, path) => {
    expect(suggestPath(given)).toBe(path)
  })

  it('has the longest common end, also where another path shares more segments elsewhere', () => {
    expect(makeSuggestPath(['/p/q/x/c', '/b/c'])('/p/q/b/c')).toBe('/b/c')
  })

  it('has no parameters', () => {
    expect(makeSuggestPath(['/v1/teams/{team}/usage'])('/usage')).toBe(null)
  })

  it.each(['/', '/v1', '/v1/models/svc/fast', '/v1/chat/completions/1/messages', '/v1/messages/batches'])(
    'of %s is not known',
    (given) => {
      expect(suggestPath(given)).toBe(null)
    },
  )
})

describe('the hint at an unknown path', () => {
  const hintAt = makePathHint(PATHS)

  it.each([
    ['/v1/chat/completion', 'Did you mean /v1/chat/completions?'],
    ['/v1/models/svc/fast', 'Write a slash within a name as %2F.'],
    ['/v1/teams/acme/core/usage', 'Write a slash within a name as %2F.'],
    ['/v1/messages/batches', ''],
    ['/v1/messages/batches/batch-1', ''],
    ['/', ''],
  ])('of %s is: %s', (given, hint) => {
    expect(hintAt(given)).toBe(hint)
  })
})
