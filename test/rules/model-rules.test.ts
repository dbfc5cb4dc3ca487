import type { ModelCapabilities } from '@anthropic-ai/sdk/resources/models'
import { describe, expect, it } from 'vitest'
import { toCapabilities } from '../../src/gateway/models/capabilities.ts'
import { toCodexModelList, toMessagesModelList, toModelList } from '../../src/gateway/models/formats.ts'
import { explainRefusal, withModels, findEntry, listEntries, pickModel } from '../../src/gateway/models/rules.ts'
import { makeNameTable } from '../../src/directory/aliases.ts'
import type { SnapshotModel } from '../../src/directory/rules.ts'
import { servedModel, serveEntry } from '../support/served-models.ts'
import type { GivenModel } from '../support/served-models.ts'

const FAST = model('svc/fast', {})
const DRAFT = model('svc/draft', { certified: false })
const HIDDEN = model('svc/hidden', { published: false })
const WRITER = model('vendorb/writer', { aliases: ['claude-opus-4-7', 'claude-*'] })
const OTHERS = model('svc/others', { aliases: ['claude-haiku-*', 'claude-x'] })
const MODELS = [FAST, DRAFT, HIDDEN, WRITER]
const TEAM = { defaultModel: 'svc/fast', models: MODELS, names: makeNameTable([...MODELS, OTHERS]), timeZone: 'UTC' }

describe('the model of a call', () => {
  it.each([
    ['the one it names', 'svc/fast', TEAM, FAST],
    ["the team's default, where it names none", undefined, TEAM, FAST],
    ['none, where the team has no default', undefined, { ...TEAM, defaultModel: null }, null],
    ['the one of an alias', 'claude-opus-4-7', TEAM, WRITER],
    ['the one of a prefix', 'claude-opus-5', TEAM, WRITER],
    ["nothing that is another team's alias, though a shorter prefix fits", 'claude-haiku-4-5', TEAM, null],
    ["nothing that is another team's whole alias, though a prefix fits", 'claude-x', TEAM, null],
    ['nothing unknown', 'svc/none', TEAM, null],
    ['nothing uncertified', 'svc/draft', TEAM, null],
    ['nothing unpublished', 'svc/hidden', TEAM, null],
    ['no default that is uncertified', undefined, { ...TEAM, defaultModel: 'svc/draft' }, null],
    ['no default that is not on the list', undefined, { ...TEAM, defaultModel: 'svc/gone' }, null],
    ['an empty name is a name', '', TEAM, null],
    ['names are exact', 'SVC/FAST', TEAM, null],
  ])('is %s', (_name, requested, team, expected) => {
    expect(pickModel(team, requested)).toEqual(expected)
  })
})

describe('the lists of models', () => {
  const visible = listEntries({ ...TEAM, models: [FAST, DRAFT, HIDDEN] })

  it('show the published models, certified or not', () => {
    expect(visible.map(({ name }) => name)).toEqual(['svc/fast', 'svc/draft'])
  })

  it("have vendor A's shape, with the members of vendor B's", () => {
    expect(toModelList([{ name: 'svc/fast', model: FAST }])).toEqual({
      object: 'list',
      data: [
        {
          id: 'svc/fast',
          object: 'model',
          type: 'model',
          display_name: 'Svc/fast',
          created_at: '2026-11-21T10:00:00.900Z',
          max_input_tokens: null,
          max_tokens: null,
          created: 1795255200,
          owned_by: 'svc',
          metadata: {
            displayName: 'Svc/fast',
            certified: true,
            published: true,
            verificationState: 'trusted',
            aliases: [],
            aliasOf: null,
          },
        },
      ],
      has_more: false,
      first_id: 'svc/fast',
      last_id: 'svc/fast',
    })
  })

  it("have vendor B's token limits where the directory has them", () => {
    const limited = model('svc/large', { contextWindow: 200_000, caps: { maxOutput: 64_000 } })
    const entry = { name: 'svc/large', model: limited }
    const limits = { max_input_tokens: 200_000, max_tokens: 64_000 }
    expect(toMessagesModelList([entry]).data).toMatchObject([limits])
    expect(toModelList([entry]).data).toMatchObject([limits])
  })

  it("have vendor B's shape", () => {
    const rest = {
      type: 'model',
      created_at: '2026-11-21T10:00:00.900Z',
      max_input_tokens: null,
      max_tokens: null,
      capabilities: null,
      aliases: [],
      alias_of: null,
    }
    expect(toMessagesModelList(visible)).toEqual({
      data: [
        { id: 'svc/fast', display_name: 'Svc/fast', ...rest },
        { id: 'svc/draft', display_name: 'Svc/draft', ...rest },
      ],
      has_more: false,
      first_id: 'svc/fast',
      last_id: 'svc/draft',
    })
  })

  it("have vendor B's capabilities where the directory has one of them, with every key that its SDK reads", () => {
    const yes = { supported: true }
    const no = { supported: false }
    const capabilities: ModelCapabilities | null = toCapabilities({
      thinking: 'budget',
      efforts: ['minimal', 'low', 'high'],
      pdf: true,
    })
    expect(capabilities).toEqual({
      ...{ batch: no, citations: no, code_execution: no, image_input: yes, pdf_input: yes, structured_outputs: no },
      context_management: {
        ...no,
        ...{ clear_thinking_20251015: null, clear_tool_uses_20250919: null, compact_20260112: null },
      },
      effort: { ...yes, low: yes, medium: no, high: yes, xhigh: no, max: no },
      server_tools: { ...no, code_execution: no, web_search: no },
      thinking: { ...yes, types: { adaptive: no, enabled: yes, disabled: yes, between_tools: no } },
    })
    expect(toCapabilities({ images: false })?.image_input).toEqual(no)
    expect(toCapabilities({ maxOutput: 64_000, topK: true })).toBeNull()
  })

  it('show each whole alias as an entry of its own, and prefixes only beside their model', () => {
    const entries = listEntries({ ...TEAM, models: [WRITER] })
    const { data, models } = toCodexModelList(entries)
    expect(data.map(({ id, metadata: { aliases, aliasOf } }) => [id, aliases, aliasOf])).toEqual([
      ['vendorb/writer', ['claude-opus-4-7', 'claude-*'], null],
      ['claude-opus-4-7', [], 'vendorb/writer'],
    ])
    expect(models.map(({ slug }) => slug)).toEqual(['vendorb/writer', 'claude-opus-4-7'])
    expect(toMessagesModelList(entries).data.map(({ id, alias_of }) => [id, alias_of])).toEqual([
      ['vendorb/writer', null],
      ['claude-opus-4-7', 'vendorb/writer'],
    ])
  })

  it.each([
    ['an id', 'vendorb/writer', WRITER],
    ['an alias', 'claude-opus-4-7', WRITER],
    ['a name with a prefix', 'claude-opus-5', WRITER],
    ['no hidden model', 'svc/hidden', null],
    ["no other team's alias", 'claude-haiku-4-5', null],
  ])('find %s', (_name, name, found) => {
    expect(findEntry(TEAM, name)).toEqual(found && { name, model: found })
  })

  it('have no first and last id when they are empty', () => {
    expect(toMessagesModelList([])).toEqual({ data: [], has_more: false, first_id: null, last_id: null })
  })

  it('have every member that Codex requires, for the models that can be called', () => {
    const { object, data, models } = toCodexModelList(visible)
    expect([object, data.length]).toEqual(['list', 2])
    expect(models.map(({ slug }) => slug)).toEqual(['svc/fast'])
    expect(Object.keys(models[0] ?? {})).toEqual(
      expect.arrayContaining([
        'slug',
        'display_name',
        'supported_reasoning_levels',
        'shell_type',
        'visibility',
        'supported_in_api',
        'priority',
        'base_instructions',
        'supports_reasoning_summaries',
        'support_verbosity',
        'truncation_policy',
        'supports_parallel_tool_calls',
        'experimental_supported_tools',
      ]),
    )
    expect(models[0]?.base_instructions.length).toBeGreaterThan(500)
  })
})

describe('what Codex reads of a model', () => {
  const read = (given: GivenModel) => toCodexModelList([{ name: 'svc/one', model: model('svc/one', given) }]).models[0]

  it('has the context window and the reasoning levels that the directory gives', () => {
    expect(read({ contextWindow: 200_000, caps: { efforts: ['low', 'medium', 'high'] } })).toMatchObject({
      context_window: 200_000,
      default_reasoning_level: 'medium',
      supported_reasoning_levels: [{ effort: 'low' }, { effort: 'medium' }, { effort: 'high' }],
      supports_reasoning_summaries: true,
    })
  })

  it('leaves out what the directory does not give', () => {
    const entry = read({})
    expect(entry).not.toHaveProperty('context_window')
    expect(entry).not.toHaveProperty('default_reasoning_level')
    expect(entry).toMatchObject({ supported_reasoning_levels: [], supports_reasoning_summaries: false })
  })

  it('leaves out the effort `max`, at which older versions discard the whole list', () => {
    expect(read({ caps: { efforts: ['high', 'max'] } })).toMatchObject({
      default_reasoning_level: 'high',
      supported_reasoning_levels: [{ effort: 'high' }],
    })
  })

  it.each<[string, GivenModel, 'freeform' | null]>([
    ['of a vendor', {}, 'freeform'],
    ['of the local worker', { backendModel: 'qwen3:8b' }, null],
    ['of listed backends', { backendModel: 'x', serve: [serveEntry('vendorb', 'model-1')] }, 'freeform'],
    [
      'of listed backends with the worker',
      { serve: [serveEntry('vendorb', 'model-1'), serveEntry('local-engine', 'model-1')] },
      null,
    ],
    [
      'of two equal backends, and of the worker without a network',
      {
        serve: [
          serveEntry('vendorb', 'model-1', { weight: 3 }),
          serveEntry('vendorb-eu', 'model-1'),
          serveEntry('local-engine', 'model-1', { rank: 1, when: 'offline' }),
        ],
      },
      null,
    ],
  ])('offers apply_patch as a custom tool, which local servers refuse: a model %s', (_, given, type) => {
    expect(read(given)).toMatchObject({ apply_patch_tool_type: type })
  })

  it('takes images unless the directory says otherwise', () => {
    expect(read({})).toMatchObject({ input_modalities: ['text', 'image'] })
    expect(read({ caps: { images: false } })).toMatchObject({ input_modalities: ['text'] })
  })
})

describe('the refusal of a model', () => {
  const SENTENCE = 'Your team may not call the model "x".'

  it.each([
    ['names the models that the team may call', TEAM, `${SENTENCE} It may call svc/fast, vendorb/writer.`],
    [
      'says that there are none',
      { ...TEAM, models: [DRAFT] },
      `${SENTENCE} It may call no model: ask an admin of the team.`,
    ],
    ['says so without a team', null, `${SENTENCE} It may call no model: ask an admin of the team.`],
  ])('%s', (_name, team, message) => {
    expect(explainRefusal({}, team, 'x')).toBe(message)
  })

  it('names the API key that was used', () => {
    const key = { id: 'key-1', models: ['svc/fast'], serviceAccount: null }
    expect(explainRefusal({ key }, withModels(TEAM, ['svc/fast']), 'vendorb/writer')).toBe(
      'This API key may not call the model "vendorb/writer". It may call svc/fast.',
    )
  })

  it('names at most 30 models and cuts a long requested name', () => {
    const models = Array.from({ length: 40 }, (_, i) => model(`v/${i}`, {}))
    expect(explainRefusal({}, { ...TEAM, models }, 'x'.repeat(5000)).length).toBeLessThan(500)
    expect(explainRefusal({}, { ...TEAM, models }, 'x')).toMatch(
      /v\/29 and 10 more; GET \/v1\/models lists them all\.$/,
    )
  })
})

function model(id: string, given: GivenModel): SnapshotModel {
  const createdAt = new Date('2026-11-21T10:00:00.900Z')
  return servedModel(id, { displayName: id.replace('s', 'S'), owner: 'svc', createdAt, ...given })
}
