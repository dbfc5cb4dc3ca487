import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { makeNameTable } from '../../src/directory/aliases.ts'
import type { SnapshotModel } from '../../src/directory/rules.ts'
import { judgeAlternatives, ROUTING_MEMBERS } from '../../src/gateway/calls/request/alternatives.ts'
import { listPlacements } from '../../src/gateway/plan/candidate.ts'
import { serveEntry, servedModel } from '../support/served-models.ts'

const MODELS = [
  servedModel('v/large', { aliases: ['large-1'] }),
  servedModel('v/small', { upstreamModel: 'v/small' }),
  servedModel('v/named', { upstreamModel: 'small-2026', aliases: ['small-2026', 'small-*'] }),
  servedModel('v/local', { backendModel: 'qwen' }),
  servedModel('v/draft', { certified: false, aliases: ['draft'] }),
  servedModel('v/eu', { serve: [serveEntry('eu', 'v/eu')], aliases: ['eu-1'] }),
  servedModel('v/eu-named', { serve: [serveEntry('eu', 'eu-1')] }),
  servedModel('v/both', { serve: [serveEntry('eu', 'v/both'), serveEntry('vendora', 'v/both')] }),
]
const TEAM = { defaultModel: 'v/large', models: MODELS, names: makeNameTable(MODELS), timeZone: 'UTC' }

const placementsOf = (model: SnapshotModel) => listPlacements(model, { hasWorker: true, upstream: 'vendora' })

const ADVISOR = { type: 'advisor_20260301', name: 'advisor', model: 'v/none' }

/** The refusal of a call of this model: its code, and the first word of its message. */
const judge = (body: object, id = 'v/large') => {
  const model = MODELS.find((one) => one.id === id)
  if (!model) throw new Error(`There is no model ${id}.`)
  const refusal = judgeAlternatives({ caller: {}, team: TEAM, model, placementsOf }, { ...body })
  return refusal && [refusal.code, refusal.message.split(/[: ]/)[0]]
}

describe('the models that a body names beside model', () => {
  it.each<[string, object]>([
    ['none', {}],
    ['null', { models: null, fallbacks: null, route: null }],
    ['an empty list', { models: [] }],
    ['models that the team may call', { models: ['v/large', 'v/small'] }],
    ['objects that name such models', { fallbacks: [{ model: 'v/small', max_tokens: 9 }] }],
    ["an alias that is the model's name at the backend", { models: ['small-2026'] }],
    ['one that the directory serves there too', { models: ['v/both'] }],
    ['a tool that runs such a model', { tools: [{ type: 'advisor_20260301', model: 'v/large' }] }],
    ['a moderation by such a model', { moderation: { model: 'v/small' } }],
    ['a moderation that names no model', { moderation: { policy: null } }],
    ['a search of OpenRouter', { tools: [{ type: 'openrouter:web_search' }], plugins: [{ id: 'web' }] }],
    ['a fallback of Vercel that the team may call', { providerOptions: { gateway: { models: ['v/small'] } } }],
    ["Groq's Compound with its own models", { compound_custom: { models: { answering_model: null }, tools: {} } }],
    ['options of Vercel without models', { providerOptions: { gateway: { order: ['x'] }, anthropic: {} } }],
    [
      'a function with a parameter called model',
      { tools: [{ type: 'function', name: 'f', parameters: { model: {} } }] },
    ],
    [
      'the arguments and the result of a call',
      { messages: [{ content: [{ input: { tools: [{ model: 'v/none' }] } }] }] },
    ],
    [
      'a tool that the conversation adds',
      { input: [{ type: 'additional_tools', tools: [{ type: 'x', model: 'v/large' }] }] },
    ],
  ])('may be %s', (_name, body) => {
    expect(judge(body)).toBeNull()
  })

  it.each<[string, object, string[]]>([
    ['one that the team may not call', { models: ['v/large', 'v/none'] }, ['model_not_allowed', 'models.1']],
    ['one that is not certified', { fallbacks: [{ model: 'v/draft' }] }, ['model_not_allowed', 'fallbacks.0']],
    ['one in a tool', { tools: [{}, { type: 'x', model: 'v/none' }] }, ['model_not_allowed', 'tools.1.model']],
    [
      'one in a tool, for its images',
      { tools: [{ svg: { model: 'v/none' } }] },
      ['model_not_allowed', 'tools.0.svg.model'],
    ],
    ['one for the moderation', { moderation: { model: 'v/none' } }, ['model_not_allowed', 'moderation.model']],
    ['one in another case', { moderation: { Model: 'v/none' } }, ['model_not_allowed', 'moderation.Model']],
    [
      'one in another case, beside one that it may call',
      { fallbacks: [{ model: 'v/small', Model: 'v/none' }] },
      ['model_not_allowed', 'fallbacks.0'],
    ],
    [
      'one in a tool, in a spelling with U+017F',
      { tools: [{ '\u017fvg': { model: 'v/none' } }] },
      ['model_not_allowed', 'tools.0.\u017fvg.model'],
    ],
    [
      'one in a tool, in another case',
      { tools: [{ type: 'x', model: 'v/small', MODEL: 'v/none' }] },
      ['model_not_allowed', 'tools.0.MODEL'],
    ],
    [
      'one in tools in another case',
      { input: [{ tools: [{ tools: [], TOOLS: [ADVISOR] }] }] },
      ['model_not_allowed', 'input.0.tools.0.TOOLS.0.model'],
    ],
    [
      'one in an image tool in another case',
      { tools: [{ SVG: { Model: 'v/none' } }] },
      ['model_not_allowed', 'tools.0.SVG.Model'],
    ],
    [
      'one in a tool that a message adds in another case',
      { messages: [{ content: [{ tool: { Definition: ADVISOR } }] }] },
      ['model_not_allowed', 'messages.0.content.0.tool.Definition.model'],
    ],
    ['one in a namespace', { tools: [{ tools: [{}, ADVISOR] }] }, ['model_not_allowed', 'tools.0.tools.1.model']],
    ['one in an item of tools', { input: [{}, { tools: [ADVISOR] }] }, ['model_not_allowed', 'input.1.tools.0.model']],
    [
      'one in a tool that a message adds',
      { messages: [{ role: 'system', content: [{ type: 'tool_addition', tool: { definition: ADVISOR } }] }] },
      ['model_not_allowed', 'messages.0.content.0.tool.definition.model'],
    ],
    [
      'one in a tool that a compaction repeats',
      { messages: [{ content: 'hi' }, { content: [{ type: 'compaction', tool_changes: [{ definition: ADVISOR }] }] }] },
      ['model_not_allowed', 'messages.1.content.0.tool_changes.0.definition.model'],
    ],
    ['one that the backend knows by another name', { models: ['v/named'] }, ['invalid_request', 'models.0']],
    ['an alias of one that is not certified', { models: ['draft'] }, ['model_not_allowed', 'models.0']],
    ['an alias that the backend does not know', { models: ['large-1'] }, ['invalid_request', 'models.0']],
    ['a name with a prefix', { models: ['small-2027'] }, ['invalid_request', 'models.0']],
    ['one that only the worker has', { models: ['v/local'] }, ['invalid_request', 'models.0']],
    ['one that another backend serves', { models: ['v/eu'] }, ['invalid_request', 'models.0']],
    [
      'one in a tool of OpenRouter',
      { tools: [{ type: 'openrouter:advisor', parameters: { model: 'v/none' } }] },
      ['invalid_request', '"tools.0"'],
    ],
    [
      "one that OpenRouter's tool chooses",
      { input: [{ tools: [{}, { type: 'openrouter:fusion' }] }] },
      ['invalid_request', '"input.0.tools.1"'],
    ],
    [
      'one in a plugin of OpenRouter',
      { plugins: [{ id: 'web' }, { id: 'fusion', analysis_models: ['v/none'] }] },
      ['invalid_request', '"plugins.1"'],
    ],
    [
      'a fallback of Vercel',
      { providerOptions: { gateway: { models: ['v/small', 'v/none'] } } },
      ['model_not_allowed', 'providerOptions.gateway.models.1'],
    ],
    [
      "a part of Groq's Compound",
      { compound_custom: { models: { reasoning_model: 'v/none' } } },
      ['model_not_allowed', 'compound_custom.models.reasoning_model'],
    ],
    ["a configuration of LiteLLM's router", { user_config: { model_list: [] } }, ['invalid_request', '"user_config"']],
    ['an entry without a name', { fallbacks: [{}] }, ['invalid_request', 'fallbacks.0']],
    ['a choice that is left to the vendor', { fallbacks: 'default' }, ['invalid_request', '"fallbacks"']],
    ['a text in place of a list', { models: 'v/large' }, ['invalid_request', '"models"']],
  ])('may not be %s', (_name, body, expected) => {
    expect(judge(body)).toEqual(expected)
  })

  it.each<[string, string, string | null]>([
    ['v/eu', 'v/both', null],
    ['v/both', 'v/both', null],
    ['v/eu-named', 'v/eu', null],
    ['v/both', 'v/eu', 'invalid_request'],
    ['v/eu', 'v/large', 'invalid_request'],
    ['v/eu', 'v/eu-named', 'invalid_request'],
    ['v/eu', 'eu-1', 'invalid_request'],
    ['v/local', 'v/local', 'invalid_request'],
  ])('go along with %s to its backends where each knows %s by this name', (id, named, code) => {
    expect(judge({ models: [named] }, id)?.[0] ?? null).toBe(code)
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
