import { describe, expect, it } from 'vitest'
import {
  pickModel,
  toCodexModelList,
  toMessagesModelList,
  toModelList,
  visibleModels,
} from '../../src/gateway/models/rules.ts'
import type { ServeEntry } from '../../src/directory/backends.ts'
import type { SnapshotModel } from '../../src/directory/snapshot.ts'

const FAST = model('svc/fast', {})
const DRAFT = model('svc/draft', { certified: false })
const HIDDEN = model('svc/hidden', { published: false })
const TEAM = { defaultModel: 'svc/fast', models: [FAST, DRAFT, HIDDEN] }

describe('the model of a call', () => {
  it.each([
    ['the one it names', 'svc/fast', TEAM, { model: FAST }],
    ["the team's default, where it names none", undefined, TEAM, { model: FAST }],
    ['none, where the team has no default', undefined, { ...TEAM, defaultModel: null }, 'no_model_named'],
    ['nothing unknown', 'svc/none', TEAM, 'model_not_allowed'],
    ['nothing uncertified', 'svc/draft', TEAM, 'model_not_allowed'],
    ['nothing unpublished', 'svc/hidden', TEAM, 'model_not_allowed'],
    ['no default that is uncertified', undefined, { ...TEAM, defaultModel: 'svc/draft' }, 'model_not_allowed'],
    ['no default that is not on the list', undefined, { ...TEAM, defaultModel: 'svc/gone' }, 'model_not_allowed'],
    ['an empty name is a name', '', TEAM, 'model_not_allowed'],
    ['names are exact', 'SVC/FAST', TEAM, 'model_not_allowed'],
  ])('is %s', (_name, requested, team, expected) => {
    expect(pickModel(team, requested)).toEqual(expected)
  })
})

describe('the lists of models', () => {
  const visible = visibleModels(TEAM)

  it('show the published models, certified or not', () => {
    expect(visible.map(({ id }) => id)).toEqual(['svc/fast', 'svc/draft'])
  })

  it("have vendor A's shape, with the members of vendor B's", () => {
    expect(toModelList([FAST])).toEqual({
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
          metadata: { displayName: 'Svc/fast', certified: true, published: true, verificationState: 'trusted' },
        },
      ],
      has_more: false,
      first_id: 'svc/fast',
      last_id: 'svc/fast',
    })
  })

  it("have vendor B's token limits where the directory has them", () => {
    const limited = model('svc/large', { contextWindow: 200_000, caps: { maxOutput: 64_000 } })
    const limits = { max_input_tokens: 200_000, max_tokens: 64_000 }
    expect(toMessagesModelList([limited]).data).toMatchObject([limits])
    expect(toModelList([limited]).data).toMatchObject([limits])
  })

  it("have vendor B's shape", () => {
    expect(toMessagesModelList(visible)).toEqual({
      data: [
        { ...DATED, id: 'svc/fast', display_name: 'Svc/fast', max_input_tokens: null, max_tokens: null },
        { ...DATED, id: 'svc/draft', display_name: 'Svc/draft', max_input_tokens: null, max_tokens: null },
      ],
      has_more: false,
      first_id: 'svc/fast',
      last_id: 'svc/draft',
    })
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
  const read = (given: Partial<SnapshotModel>) => toCodexModelList([model('svc/one', given)]).models[0]

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

  it.each<[string, Partial<SnapshotModel>, 'freeform' | null]>([
    ['of a vendor', {}, 'freeform'],
    ['of the local worker', { backendModel: 'qwen3:8b' }, null],
    ['of listed backends', { backendModel: 'x', serve: [serveEntry('vendorb')] }, 'freeform'],
    ['of listed backends with the worker', { serve: [serveEntry('vendorb'), serveEntry('local-engine')] }, null],
  ])('offers apply_patch as a custom tool, which local servers refuse: a model %s', (_, given, type) => {
    expect(read(given)).toMatchObject({ apply_patch_tool_type: type })
  })

  it('takes images unless the directory says otherwise', () => {
    expect(read({})).toMatchObject({ input_modalities: ['text', 'image'] })
    expect(read({ caps: { images: false } })).toMatchObject({ input_modalities: ['text'] })
  })
})

const DATED = { type: 'model', created_at: '2026-11-21T10:00:00.900Z' }

function serveEntry(backend: string): ServeEntry {
  return { backend, model: 'model-1', when: 'always' }
}

function model(id: string, given: Partial<SnapshotModel>): SnapshotModel {
  return {
    id,
    displayName: id.replace('s', 'S'),
    owner: 'svc',
    backendModel: null,
    upstreamModel: null,
    serve: [],
    contextWindow: null,
    caps: {},
    certified: true,
    published: true,
    verificationState: 'trusted',
    createdAt: new Date('2026-11-21T10:00:00.900Z'),
    ...given,
  }
}
