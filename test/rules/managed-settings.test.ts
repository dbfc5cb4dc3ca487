import { describe, expect, it } from 'vitest'
import { makeNameTable } from '../../src/directory/aliases.ts'
import type { SnapshotModel } from '../../src/directory/rules.ts'
import { toClaudeSettings, toManagedSettings } from '../../src/gateway/clients/claude.ts'
import { toOpencodeDiscovery } from '../../src/gateway/clients/opencode.ts'
import { servedModel } from '../support/served-models.ts'

const FAST = servedModel('svc/fast', { displayName: 'Fast' })
const WRITER = servedModel('v/writer', { displayName: 'Writer', aliases: ['claude-opus-4-7', 'claude-opus-*'] })
const ANY = servedModel('v/any', { displayName: 'Any', aliases: ['claude-*'] })
const DRAFT = servedModel('v/draft', { certified: false, aliases: ['claude-haiku-*'] })

const teamOf = (models: readonly SnapshotModel[], defaultModel: string | null = null) => ({
  defaultModel,
  models,
  names: makeNameTable(models),
  timeZone: 'UTC',
})

describe('the settings of Claude Code', () => {
  it('name no model where its own names are aliases', () => {
    expect(toClaudeSettings(teamOf([FAST, WRITER, ANY], 'svc/fast'))).toEqual({
      availableModels: ['svc/fast', 'v/writer', 'claude-opus-4-7', 'v/any', 'opus', 'sonnet', 'haiku', 'fable'],
      modelPicker: {
        options: [
          { model: 'svc/fast', label: 'Fast' },
          { model: 'v/writer', label: 'Writer' },
          { model: 'claude-opus-4-7', label: 'Writer' },
          { model: 'v/any', label: 'Any' },
        ],
      },
    })
  })

  it("name the team's default model for the families that are no aliases of callable models", () => {
    expect(toClaudeSettings(teamOf([FAST, WRITER, DRAFT], 'svc/fast'))).toMatchObject({
      model: 'svc/fast',
      availableModels: ['svc/fast', 'v/writer', 'claude-opus-4-7', 'opus'],
      env: {
        ANTHROPIC_DEFAULT_SONNET_MODEL: 'svc/fast',
        ANTHROPIC_DEFAULT_HAIKU_MODEL: 'svc/fast',
        ANTHROPIC_DEFAULT_FABLE_MODEL: 'svc/fast',
      },
    })
  })

  it('name no model to start with where only fable has no alias, because Claude Code never starts with it', () => {
    const named = servedModel('v/named', { aliases: ['claude-opus-*', 'claude-sonnet-*', 'claude-haiku-*'] })
    const settings = toClaudeSettings(teamOf([FAST, named], 'svc/fast'))
    expect(settings).toMatchObject({ env: { ANTHROPIC_DEFAULT_FABLE_MODEL: 'svc/fast' } })
    expect(settings).not.toHaveProperty('model')
  })

  it.each([
    ['has no default', null],
    ['may not call its default', 'v/draft'],
  ])('name the first callable model where the team %s', (_name, defaultModel) => {
    expect(toClaudeSettings(teamOf([DRAFT, FAST], defaultModel))).toMatchObject({
      model: 'svc/fast',
      env: { ANTHROPIC_DEFAULT_OPUS_MODEL: 'svc/fast', ANTHROPIC_DEFAULT_HAIKU_MODEL: 'svc/fast' },
    })
  })

  it('allow nothing to a team that may call no model', () => {
    expect(toClaudeSettings(teamOf([DRAFT]))).toEqual({ availableModels: [], modelPicker: { options: [] } })
  })

  it('have another version when they differ', () => {
    const versions = [[FAST], [FAST, WRITER], [FAST]].map((models) => toManagedSettings(teamOf(models)).checksum)
    expect(versions[0]).toBe(versions[2])
    expect(versions[0]).not.toBe(versions[1])
  })
})

describe('the discovery document of opencode', () => {
  const ADDRESSES = { baseUrl: 'https://svc.example.com', gatewayUrl: 'https://gateway.example.com' }
  const TEXT = { input: ['text'], output: ['text'] }
  const UNKNOWN = { attachment: true, reasoning: false, modalities: { input: ['text', 'image'], output: ['text'] } }

  it('tells no models without a team, and where to ask for them', () => {
    expect(toOpencodeDiscovery(ADDRESSES, null)).toEqual({
      auth: {
        command: ['svc', 'keys', 'create', 'opencode', '--print', '--url', 'https://svc.example.com'],
        env: 'SVC_API_KEY',
      },
      config: {},
      remote_config: {
        url: 'https://gateway.example.com/.well-known/opencode',
        headers: { Authorization: 'Bearer {env:SVC_API_KEY}' },
      },
    })
  })

  it('has the callable models of a team, and its default first', () => {
    expect(toOpencodeDiscovery(ADDRESSES, teamOf([FAST, WRITER, DRAFT], 'v/writer')).config).toEqual({
      model: 'svc/v/writer',
      small_model: 'svc/v/writer',
      provider: {
        svc: {
          npm: '@ai-sdk/openai-compatible',
          name: 'svc',
          options: { baseURL: 'https://gateway.example.com/v1', apiKey: '{env:SVC_API_KEY}' },
          models: {
            'svc/fast': { name: 'Fast', ...UNKNOWN },
            'v/writer': { name: 'Writer', ...UNKNOWN },
            'claude-opus-4-7': { name: 'Writer', ...UNKNOWN },
          },
        },
      },
    })
  })

  it.each<[string, Partial<SnapshotModel>, object]>([
    ['no images where the model reads none', { caps: { images: false } }, { attachment: false, modalities: TEXT }],
    ['PDF files', { caps: { pdf: true } }, { modalities: { input: ['text', 'image', 'pdf'], output: ['text'] } }],
    ['efforts to choose from', { caps: { efforts: ['low', 'high'] } }, { reasoning: true }],
    ['no effort where there is no other than none', { caps: { efforts: ['none'] } }, { reasoning: false }],
    [
      'earlier reasoning where the model requires it',
      { caps: { reasoningReplay: 'required' } },
      { interleaved: { field: 'reasoning_content' } },
    ],
    ['the context window', { contextWindow: 200_000 }, { limit: { context: 200_000, output: 32_000 } }],
    [
      'the token limit of the model',
      { contextWindow: 200_000, caps: { maxOutput: 8192 } },
      { limit: { context: 200_000, output: 8192 } },
    ],
    [
      'a quarter of a small window, so that the conversation has the rest',
      { contextWindow: 32_768 },
      { limit: { context: 32_768, output: 8192 } },
    ],
  ])('tells opencode of %s', (_name, given, expected) => {
    const { config } = toOpencodeDiscovery(ADDRESSES, teamOf([servedModel('v/one', given)], 'v/one'))
    expect(config).toMatchObject({ provider: { svc: { models: { 'v/one': expected } } } })
  })
})
