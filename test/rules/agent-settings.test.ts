import { describe, expect, it } from 'vitest'
import { claude } from '../../src/cli/agents/claude.ts'
import type { AgentSettings } from '../../src/cli/agents/agent.ts'

const SETTINGS: AgentSettings = {
  gatewayUrl: 'https://svc.example.com',
  model: 'svc/fast',
  models: [
    { id: 'svc/fast', name: 'Fast', contextWindow: 32_768 },
    { id: 'svc/deep', name: 'Deep', contextWindow: null },
  ],
  isModelChosen: false,
  hasModel: () => false,
  tokenCommand: ['/usr/bin/node', '/opt/svc', 'token'],
}

describe('the settings of Claude Code', () => {
  it.each([
    ['name the context window of the model', SETTINGS, '32768'],
    ['name no context window where it is not known', { ...SETTINGS, model: 'svc/deep' }, undefined],
    // Claude Code knows the context windows of its own models.
    ['name no context window where its own names are aliases', { ...SETTINGS, hasModel: () => true }, undefined],
  ])('%s', (_name, settings, expected) => {
    const { env } = JSON.parse(claude.print(settings)) as { env: Record<string, string> }
    expect(env['CLAUDE_CODE_MAX_CONTEXT_TOKENS']).toBe(expected)
  })
})
