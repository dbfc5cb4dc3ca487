import { describe, expect, it } from 'vitest'
import type { AgentSettings } from '../../src/cli/agents/agent.ts'
import { claude } from '../../src/cli/agents/claude.ts'

const modelsOf = (given: { isModelChosen?: boolean; prefixes?: readonly string[] }) => {
  const text = claude.print({
    deploymentUrl: 'https://svc.example.com',
    gatewayUrl: 'https://svc.example.com',
    model: 'svc/fast',
    models: [],
    opencodeModels: {},
    isModelChosen: given.isModelChosen ?? false,
    hasModel: (name) => given.prefixes?.some((prefix) => name.startsWith(prefix)) ?? false,
    tokenCommand: ['/bin/svc'],
    tokenCommandLine: '/bin/svc',
  })
  const { env } = JSON.parse(text) as { env: Record<string, string> }
  return Object.keys(env).filter((name) => name.endsWith('_MODEL'))
}

const OPUS = 'ANTHROPIC_DEFAULT_OPUS_MODEL'
const SONNET = 'ANTHROPIC_DEFAULT_SONNET_MODEL'
const HAIKU = 'ANTHROPIC_DEFAULT_HAIKU_MODEL'
const FABLE = 'ANTHROPIC_DEFAULT_FABLE_MODEL'

describe('the models in the settings of Claude Code', () => {
  it.each([
    ['all, where no name of its own is an alias', {}, ['ANTHROPIC_MODEL', OPUS, SONNET, HAIKU, FABLE]],
    ['none, where all are aliases', { prefixes: ['claude-'] }, []],
    [
      'those of families without alias',
      { prefixes: ['claude-opus-', 'claude-haiku-'] },
      ['ANTHROPIC_MODEL', SONNET, FABLE],
    ],
    [
      'not the one to start with, where only a family that it does not start with has no alias',
      { prefixes: ['claude-opus-', 'claude-sonnet-', 'claude-haiku-'] },
      [FABLE],
    ],
    [
      'all, where a name has an alias but not the family',
      { prefixes: ['claude-opus-4-7'] },
      ['ANTHROPIC_MODEL', OPUS, SONNET, HAIKU, FABLE],
    ],
    [
      'all, where the person has chosen a model',
      { prefixes: ['claude-'], isModelChosen: true },
      ['ANTHROPIC_MODEL', OPUS, SONNET, HAIKU, FABLE],
    ],
  ])('are %s', (_name, given, variables) => {
    expect(modelsOf(given)).toEqual(variables)
  })
})

const SETTINGS: AgentSettings = {
  deploymentUrl: 'https://svc.example.com',
  gatewayUrl: 'https://svc.example.com',
  model: 'svc/fast',
  models: [
    { id: 'svc/fast', name: 'Fast', contextWindow: 32_768 },
    { id: 'svc/deep', name: 'Deep', contextWindow: null },
  ],
  opencodeModels: {},
  isModelChosen: false,
  hasModel: () => false,
  tokenCommand: ['/usr/bin/node', '/opt/svc', 'token'],
  tokenCommandLine: '/usr/bin/node /opt/svc token',
}

describe('the context window in the settings of Claude Code', () => {
  it.each([
    ['is that of the model', SETTINGS, '32768'],
    ['is not set when it is not known', { ...SETTINGS, model: 'svc/deep' }, undefined],
    // Claude Code knows the context windows of its own models.
    ['is not set when the names of Claude Code are aliases', { ...SETTINGS, hasModel: () => true }, undefined],
  ])('%s', (_name, settings, expected) => {
    const { env } = JSON.parse(claude.print(settings)) as { env: Record<string, string> }
    expect(env['CLAUDE_CODE_MAX_CONTEXT_TOKENS']).toBe(expected)
  })
})
