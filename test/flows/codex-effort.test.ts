import { afterAll, beforeAll, expect, it } from 'vitest'
import { saysHello } from '../support/dialect-servers.ts'
import { startGateway } from '../support/gateway.ts'
import type { TestGateway } from '../support/gateway.ts'
import { serveEntry, servedModel } from '../support/served-models.ts'
import { startUpstream } from '../support/upstream.ts'
import type { TestUpstream } from '../support/upstream.ts'

let chat: TestUpstream
let responses: TestUpstream
let gateway: TestGateway

beforeAll(async () => {
  chat = await startUpstream(saysHello('chat'))
  responses = await startUpstream(saysHello('responses'))
  const efforts = ['low' as const, 'high' as const]
  const toVendorC = [serveEntry('vendorc', 'large')]
  const toChat = [serveEntry('chat-server', 'large')]
  const credential = { env: 'TOKEN', file: null, as: 'bearer' } as const
  gateway = await startGateway({
    vendorc: responses.url,
    backends: [{ name: 'chat-server', dialects: ['chat'], url: chat.url.href, basePath: '/v1', credential }],
    team: {
      models: [
        servedModel('vendorc/unnamed', { serve: toVendorC }),
        servedModel('vendorc/named', { serve: toVendorC, caps: { efforts } }),
        servedModel('vendorc/off', { serve: toVendorC, caps: { efforts: ['none', ...efforts] } }),
        servedModel('chat/unnamed', { serve: toChat }),
        servedModel('chat/named', { serve: toChat, caps: { efforts } }),
        servedModel('chat/off', { serve: toChat, caps: { efforts: ['none', ...efforts] } }),
      ],
    },
  })
})
afterAll(async () => {
  await gateway[Symbol.asyncDispose]()
  await Promise.all([chat, responses].map((server) => server[Symbol.asyncDispose]()))
})

const CODEX = '/codex/v1/responses'
/** As Codex 0.171 sends it, and with the word in other places. */
const INPUT = [
  { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'gAAA' },
  { type: 'message', role: 'user', content: '"reasoning":{"effort":"none"}' },
]

const bodyOf = (model: string, reasoning: object) => ({ model, input: INPUT, reasoning, store: false })

async function sentBy(path: string, body: ReturnType<typeof bodyOf>): Promise<string> {
  expect((await gateway.post(path, body)).status).toBe(200)
  const server = body.model.startsWith('vendorc') ? responses : chat
  return server.last().body.toString()
}

it.each([
  ['none', 'a model whose efforts are not named', CODEX, 'vendorc/unnamed', {}],
  ['none', 'a model that has other efforts', CODEX, 'vendorc/named', {}],
  ['none', 'a model that has it', CODEX, 'vendorc/off', { effort: 'none' }],
  ['low', 'a model whose efforts are not named', CODEX, 'vendorc/unnamed', { effort: 'low' }],
  [
    'none',
    'a model whose efforts are not named, of another client',
    '/v1/responses',
    'vendorc/unnamed',
    { effort: 'none' },
  ],
])('the effort %s of Codex for %s, in its own dialect', async (effort, _name, path, model, expected) => {
  const sent = await sentBy(path, bodyOf(model, { effort, summary: 'auto' }))
  expect(sent).toBe(JSON.stringify(bodyOf('large', { ...expected, summary: 'auto' })))
})

it.each([
  ['none', 'a model whose efforts are not named', CODEX, 'chat/unnamed', undefined],
  ['none', 'a model that has other efforts', CODEX, 'chat/named', undefined],
  ['none', 'a model that has it', CODEX, 'chat/off', 'none'],
  ['low', 'a model whose efforts are not named', CODEX, 'chat/unnamed', 'low'],
  ['none', 'a model that has other efforts, of another client', '/v1/responses', 'chat/named', 'low'],
])('the effort %s of Codex for %s, in another dialect', async (effort, _name, path, model, expected) => {
  const sent = await sentBy(path, bodyOf(model, { effort, summary: 'auto' }))
  expect((JSON.parse(sent) as { reasoning_effort?: string }).reasoning_effort).toBe(expected)
})

it('the effort `none` alone leaves no reasoning', async () => {
  const sent = await sentBy(CODEX, bodyOf('vendorc/unnamed', { effort: 'none' }))
  expect(sent).toBe(JSON.stringify(bodyOf('large', {})))
})
