import { describe, expect, it } from 'vitest'
import {
  pickModel,
  toCodexModelList,
  toMessagesModelList,
  toModelList,
  visibleModels,
} from '../../src/gateway/models/rules.ts'
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

  it("have vendor B's shape", () => {
    expect(toMessagesModelList(visible)).toEqual({
      data: [
        { id: 'svc/fast', type: 'model', display_name: 'Svc/fast', created_at: '2026-11-21T10:00:00.900Z' },
        { id: 'svc/draft', type: 'model', display_name: 'Svc/draft', created_at: '2026-11-21T10:00:00.900Z' },
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
    price: null,
    certified: true,
    published: true,
    verificationState: 'trusted',
    createdAt: new Date('2026-11-21T10:00:00.900Z'),
    ...given,
  }
}
