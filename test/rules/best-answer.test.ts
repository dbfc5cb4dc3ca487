import { describe, expect, it } from 'vitest'
import { chooseAnswer, findRetryAfter } from '../../src/gateway/plan/best-answer.ts'

const failed = (status: number, retryAfterSeconds: number | null = null) => ({
  status,
  retryAfterSeconds,
  isPermanent: false,
})

describe('the answer of a call whose backends have all failed', () => {
  it.each<[string, number[], number | undefined]>([
    ['429 before all others', [500, 404, 403, 400, 429], 429],
    ['a fault of the request before those of the settings', [404, 401, 413, 503], 413],
    ['a refused account before a missing model', [404, 403, 500], 403],
    ['a missing model before a failure', [502, 404, 529], 404],
    ['the first of equal rank', [529, 500, 502], 529],
    ['none without an answer', [], undefined],
  ])('is %s', (_name, statuses, expected) => {
    expect(chooseAnswer(statuses.map((status) => failed(status)))?.status).toBe(expected)
  })

  it('is one after which the call may be repeated, rather than one that says that no backend serves it', () => {
    const unavailable = { ...failed(503), isPermanent: true }
    expect(chooseAnswer([unavailable, failed(502)])?.status).toBe(502)
    expect(chooseAnswer([unavailable])?.status).toBe(503)
  })

  it('says the earliest time at which one may be asked again', () => {
    expect(findRetryAfter([failed(429, 30), failed(529, 5), failed(500)])).toBe(5)
    expect(findRetryAfter([failed(429), failed(500)])).toBe(null)
  })
})
