import { execFileSync } from 'node:child_process'
import { expect, it } from 'vitest'
import { readEnvironment } from '../../src/cli/environment.ts'
import { printSettings } from '../../src/cli/agents/printed-settings.ts'

it('a shell that evaluates the settings runs nothing of the addresses in them', () => {
  const gatewayUrl = "https://x.example/$(echo ran)`echo ran`';echo ran;'"
  const deploymentUrl = 'https://x.example/$(echo%20ran);echo'
  const settings = {
    deploymentUrl,
    gatewayUrl,
    tokenCommand: ['svc'] as const,
    tokenCommandLine: 'svc',
    model: 'm',
    models: [],
    opencodeModels: {},
    isModelChosen: false,
    hasModel: () => true,
  }
  const { text } = printSettings('openai', settings, { environment: readEnvironment({}, '/', 'svc') })
  const script = `svc() { printf '%s' "$*"; }\n${text}\nprintf '%s\\n%s' "$OPENAI_BASE_URL" "$OPENAI_API_KEY"`
  expect(execFileSync('sh', ['-c', script], { encoding: 'utf8' })).toBe(
    `${gatewayUrl}/v1\ntoken --new --url ${deploymentUrl}`,
  )
})
