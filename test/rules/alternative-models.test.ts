import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { judgeAlternatives, ROUTING_MEMBERS } from '../../src/gateway/calls/alternatives.ts'
import { servedModel } from '../support/gateway.ts'

const TEAM = {
  defaultModel: 'v/large',
  models: [
    servedModel('v/large'),
    servedModel('v/small', { upstreamModel: 'v/small' }),
    servedModel('v/named', { upstreamModel: 'small-2026' }),
    servedModel('v/draft', { certified: false }),
  ],
}

const judge = (body: object) => {
  const refusal = judgeAlternatives(TEAM, { ...body })
  return refusal && [refusal.code, refusal.message.split(/[: ]/)[0]]
}

describe('the models that a body names beside model', () => {
  it.each<[string, object]>([
    ['none', {}],
    ['null', { models: null, fallbacks: null, route: null }],
    ['an empty list', { models: [] }],
    ['models that the team may call', { models: ['v/large', 'v/small'] }],
    ['objects that name such models', { fallbacks: [{ model: 'v/small', max_tokens: 9 }] }],
    ['a tool that runs such a model', { tools: [{ type: 'advisor_20260301', model: 'v/large' }] }],
    [
      'a function with a parameter called model',
      { tools: [{ type: 'function', name: 'f', parameters: { model: {} } }] },
    ],
  ])('may be %s', (_name, body) => {
    expect(judge(body)).toBeNull()
  })

  it.each<[string, object, string[]]>([
    ['one that the team may not call', { models: ['v/large', 'v/none'] }, ['model_not_allowed', 'models.1']],
    ['one that is not certified', { fallbacks: [{ model: 'v/draft' }] }, ['model_not_allowed', 'fallbacks.0']],
    ['one in a tool', { tools: [{}, { type: 'x', model: 'v/none' }] }, ['model_not_allowed', 'tools.1.model']],
    ['one that the backend knows by another name', { models: ['v/named'] }, ['invalid_request', 'models.0']],
    ['that other name', { models: ['small-2026'] }, ['model_not_allowed', 'models.0']],
    ['an entry without a name', { fallbacks: [{}] }, ['invalid_request', 'fallbacks.0']],
    ['a choice that is left to the vendor', { fallbacks: 'default' }, ['invalid_request', '"fallbacks"']],
    ['a text in place of a list', { models: 'v/large' }, ['invalid_request', '"models"']],
  ])('may not be %s', (_name, body, expected) => {
    expect(judge(body)).toEqual(expected)
  })

  it('are refused in every member and shape, where the team may not call them', () => {
    const named = fc.constantFrom('v/none', 'v/draft', 'V/LARGE', '')
    const entry = fc.oneof(
      named,
      fc.record({ model: named }),
      named.map((name) => ({ x: [name] })),
    )
    const value = fc.oneof(named, fc.array(entry, { minLength: 1 }), fc.record({ models: fc.array(entry) }))
    fc.assert(
      fc.property(fc.constantFrom(...ROUTING_MEMBERS), value, (name, given) => {
        expect(judge({ [name]: given })).not.toBeNull()
      }),
    )
  })
})
