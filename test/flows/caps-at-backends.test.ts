/** A model that can be asked less at its second backend than at its first. */
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { bodyOf, GATEWAY_PATHS, greeting, saysHello } from '../support/dialect-servers.ts'
import { startGateway } from '../support/gateway.ts'
import type { TestGateway } from '../support/gateway.ts'
import { freePort } from '../support/loopback.ts'
import { serveEntry, servedModel } from '../support/served-models.ts'
import { answersJson, startUpstream } from '../support/upstream.ts'
import type { TestUpstream } from '../support/upstream.ts'

let vendor: TestUpstream
let engine: TestUpstream
let gateway: TestGateway

beforeAll(async () => {
  ;[vendor, engine] = await Promise.all([startUpstream(), startUpstream()])
  const url = { vendor: vendor.url, away: new URL(`http://127.0.0.1:${await freePort()}`), engine: engine.url }
  const known = { basePath: '/v1', credential: null }
  const caps = { images: false, maxOutput: 4096, efforts: ['low' as const], effortHints: true, streamUsage: false }
  const small = serveEntry('engine', 'small', { rank: 1, caps })
  gateway = await startGateway({
    backends: [
      { name: 'vendor', dialects: ['responses'], url: url.vendor.href, ...known },
      { name: 'away', dialects: ['responses'], url: url.away.href, ...known },
      { name: 'engine', dialects: ['chat'], url: url.engine.href, ...known },
    ],
    team: {
      models: [
        servedModel('any/model', { caps: { maxOutput: 64_000 }, serve: [serveEntry('vendor', 'large'), small] }),
        servedModel('any/away', { caps: { maxOutput: 64_000 }, serve: [serveEntry('away', 'large'), small] }),
        servedModel('any/small', { serve: [{ ...small, rank: 0 }] }),
        servedModel('any/images-last', { serve: [small, serveEntry('vendor', 'large', { rank: 2 })] }),
      ],
    },
  })
})
afterAll(async () => {
  for (const one of [gateway, vendor, engine]) await one[Symbol.asyncDispose]()
})
beforeEach(() => {
  vendor.restart(saysHello('responses'))
  engine.restart(saysHello('chat'))
})

const busy = answersJson({ error: { message: 'Busy' } }, { status: 503 })
const IMAGE = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'iVBORw0KGgo=' } }

const ask = (model: string, more: object = {}) =>
  gateway.post(GATEWAY_PATHS.messages, { ...greeting('messages', model), ...more })
const askAboutImage = (model: string) => ask(model, { messages: [{ role: 'user', content: [IMAGE] }] })
const servedBy = ({ status, headers }: Response) => [status, headers.get('x-svc-served-by')]

it('sends each backend of a call what it can be asked there', async () => {
  vendor.script = busy
  const effort = { thinking: { type: 'adaptive' }, output_config: { effort: 'high' } }
  const response = await ask('any/model', { max_tokens: 100_000, ...effort })
  expect(response.headers.get('x-svc-attempts')).toBe('vendor=503,engine=200')
  expect(bodyOf(vendor.last())).toMatchObject({ max_output_tokens: 64_000, reasoning: { effort: 'high' } })
  expect(bodyOf(engine.last())).toMatchObject({ max_tokens: 4096, reasoning_effort: 'low' })
})

it('does not ask a backend for the usage of a stream in its own dialect where that is refused there', async () => {
  await gateway.post(GATEWAY_PATHS.chat, greeting('chat', 'any/small', true))
  expect(bodyOf(engine.last())).not.toHaveProperty('stream_options')
})

it('passes over a backend whose model reads no images', async () => {
  expect(servedBy(await askAboutImage('any/images-last'))).toEqual([200, 'vendor'])
  expect(engine.calls).toHaveLength(0)
})

it('says that the backend that reads images is busy, and not that the next one reads none', async () => {
  vendor.script = busy
  expect(servedBy(await askAboutImage('any/model'))).toEqual([529, 'vendor'])
  expect(engine.calls).toHaveLength(0)
})

it.each([
  ['and says that the others do not answer, where no other backend can be reached', 'any/away', true],
  ['where there is no other backend', 'any/small', false],
])('refuses an image by name %s', async (_name, model, namesOthers) => {
  const response = await askAboutImage(model)
  const text = await response.text()
  expect([response.status, text]).toEqual([400, expect.stringContaining('reads no images')])
  expect(text.includes('The other backends of this model do not answer now.')).toBe(namesOthers)
})

it('shows in lists what the model can be asked, and not what one of its backends can', async () => {
  const response = await gateway.get('/vendorb/v1/models')
  const { data } = (await response.json()) as { data: { id: string; max_tokens: number | null }[] }
  expect(data.map(({ id, max_tokens: limit }) => [id, limit])).toEqual([
    ['any/model', 64_000],
    ['any/away', 64_000],
    ['any/small', null],
    ['any/images-last', null],
  ])
})
