import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { DirectoryBackend } from '../../src/directory/backends.ts'
import type { Dialect } from '../../src/gateway/dialects/dialect.ts'
import { GATEWAY_PATHS, greeting, saysHello, startServer } from '../support/dialect-servers.ts'
import { startGateway } from '../support/gateway.ts'
import type { TestGateway } from '../support/gateway.ts'
import { serveEntry, servedModel } from '../support/served-models.ts'
import type { TestUpstream } from '../support/upstream.ts'

const credential = (as: string) => ({ env: 'TOKEN', file: null, as })

let vendor: TestUpstream
let gateway: TestGateway

beforeAll(async () => {
  vendor = await startServer('messages')
  const known = { dialects: ['messages'], url: vendor.url.href, basePath: '/v1' } as const
  const backends: DirectoryBackend[] = [
    {
      ...known,
      name: 'workspace',
      credential: credential('x-api-key'),
      headers: { 'anthropic-workspace-id': 'wrkspc_1', 'anthropic-version': '2024-01-01' },
    },
    { ...known, name: 'portal', credential: credential('ocp-apim-subscription-key') },
  ]
  const models = backends.map(({ name }) => servedModel(`any/${name}`, { serve: [serveEntry(name, 'large')] }))
  gateway = await startGateway({ backends, team: { models } })
})

afterAll(async () => {
  await gateway[Symbol.asyncDispose]()
  await vendor[Symbol.asyncDispose]()
})

async function headersOf(dialect: Dialect, model: string, headers: Record<string, string> = {}) {
  vendor.restart(saysHello('messages'))
  const answer = await gateway.post(GATEWAY_PATHS[dialect], greeting(dialect, model), { headers })
  expect(answer.status).toBe(200)
  return vendor.last()
}

describe.each(['messages', 'chat'] as const)('a call in the %s dialect', (dialect) => {
  it('has the further headers of the backend, once each, whatever the caller sends', async () => {
    const ofCaller = {
      'anthropic-workspace-id': 'other',
      'anthropic-version': '2023-06-01',
    }
    const { rawHeaders } = await headersOf(dialect, 'any/workspace', ofCaller)
    const sent = rawHeaders.filter((_, at) =>
      /^anthropic-(workspace-id|version)$/.test(rawHeaders[at - (at % 2)] ?? ''),
    )
    expect(sent).toEqual(['anthropic-workspace-id', 'wrkspc_1', 'anthropic-version', '2024-01-01'])
  })

  it('has the credential in the header that the directory names, and in no other', async () => {
    const { headers } = await headersOf(dialect, 'any/portal')
    expect(headers).toMatchObject({ 'ocp-apim-subscription-key': 'secret-of-TOKEN' })
    expect(Object.keys(headers)).not.toContain('authorization')
    expect(Object.keys(headers)).not.toContain('x-api-key')
  })
})
