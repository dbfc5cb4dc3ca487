import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { mayWriteLater } from '../../src/database/errors.ts'
import type { Sql } from '../../src/database/sql.ts'
import { makeCallEventStore } from '../../src/gateway/usage/store.ts'
import type { Caller } from '../../src/kernel/caller.ts'
import { endedCall } from '../support/call-events.ts'
import { startGateway } from '../support/gateway.ts'
import type { TestGateway } from '../support/gateway.ts'
import { json } from '../support/requests.ts'
import { servedModel } from '../support/served-models.ts'
import { startService } from '../support/service.ts'
import { answersJson, neverAnswers, startUpstream, streams } from '../support/upstream.ts'
import type { TestUpstream } from '../support/upstream.ts'

/** The id of an account, and of a session. */
const ID = '01939c1e-6a5b-7c3d-8e4f-0a1b2c3d4e5f'
const SESSION = { 'x-svc-session-id': 'run-1' }
const chat = { model: 'vendora/large', messages: [{ role: 'user', content: 'a-secret-question' }] }
const usage = { prompt_tokens: 12, completion_tokens: 3, total_tokens: 15, prompt_tokens_details: { cached_tokens: 8 } }
const read = { inputTokens: 4, cacheReadTokens: 8, outputTokens: 3 }
const message = { role: 'assistant', content: 'a-secret-answer', refusal: null }
const answer = {
  id: 'chatcmpl-1',
  object: 'chat.completion',
  created: 1,
  model: 'vendora/large',
  choices: [{ index: 0, message, finish_reason: 'stop' }],
  usage,
}

describe('the events of a call', () => {
  let upstream: TestUpstream
  let gateway: TestGateway

  beforeAll(async () => {
    upstream = await startUpstream()
    const models = [servedModel('vendora/large', { upstreamModel: 'large-2026' }), servedModel('vendorb/writer')]
    const { url } = upstream
    gateway = await startGateway({ team: { models }, vendora: url, vendorb: url, idleTimeoutMs: 300 })
  })
  beforeEach(() => {
    gateway.events.length = 0
    upstream.restart(answersJson(answer))
  })
  afterAll(async () => {
    await gateway[Symbol.asyncDispose]()
    await upstream[Symbol.asyncDispose]()
  })

  const kinds = () => gateway.events.map(({ kind }) => kind)

  it('say who called which model, who served it, how long it took and how many tokens it used', async () => {
    const response = await gateway.post('/v1/chat/completions', chat, { headers: SESSION })
    await response.text()
    expect(await gateway.ended()).toMatchObject({
      kind: 'finished',
      call: {
        requestId: response.headers.get('x-request-id'),
        caller: { accountId: 'account-1', team: '@acme/core', sessionId: 'session-1' },
        sessionId: 'run-1',
        dialect: 'chat',
        model: 'vendora/large',
        servedBy: 'vendora',
      },
      result: { attempts: [{ backend: 'vendora', result: '200' }], outcome: 'whole', status: 200, usage: read },
    })
  })

  it('contain nothing of the question and the answer', async () => {
    await (await gateway.post('/v1/chat/completions', chat, { headers: SESSION })).text()
    await gateway.ended()
    expect(JSON.stringify(gateway.events)).not.toMatch(/a-secret|upstream-token|a-good-token/)
  })

  it('include the start of a call while it runs, only for calls of a session', async () => {
    upstream.restart(neverAnswers)
    const pending = gateway.post('/v1/chat/completions', chat, { headers: SESSION })
    await expect.poll(() => upstream.calls.length).toBe(1)
    expect(kinds()).toEqual(['started'])
    await (await pending).text()

    gateway.events.length = 0
    upstream.restart(answersJson(answer))
    await (await gateway.post('/v1/chat/completions', chat)).text()
    await gateway.ended()
    expect(kinds()).toEqual(['finished'])
  })

  it.each([
    ['of this service before all others', { 'x-svc-session-id': 'ours', 'session-id': 'codex' }, 'ours'],
    ['of Codex', { 'session-id': 'codex', 'x-session-id': 'c' }, 'codex'],
    ['of Claude Code', { 'x-claude-code-session-id': 'claude', 'x-session-id': 'c' }, 'claude'],
    ['of pi', { session_id: 'pi' }, 'pi'],
    ['of OpenCode', { 'x-session-id': 'opencode' }, 'opencode'],
    ['none', {}, null],
    ['that is too long as none', { 'session-id': 'x'.repeat(257) }, null],
  ])('name the session by the header: %s', async (_, headers, sessionId) => {
    await (await gateway.post('/v1/chat/completions', chat, { headers })).text()
    expect((await gateway.ended()).call.sessionId).toBe(sessionId)
  })

  it('contain the usage of a stream, in the dialect of its route', async () => {
    upstream.restart(
      streams([
        'event: message_start\ndata: {"type":"message_start","message":' +
          '{"usage":{"input_tokens":7,"cache_read_input_tokens":3,"output_tokens":1}}}\n\n',
        'event: message_delta\ndata: {"type":"message_delta","delta":{},"us',
        'age":{"output_tokens":9}}\n\nevent: message_stop\ndata: {"type":"message_stop"}\n\n',
      ]),
    )
    const body = { model: 'vendorb/writer', max_tokens: 9, stream: true, messages: chat.messages }
    await (await gateway.post('/vendorb/v1/messages', body)).text()
    expect(await gateway.ended()).toMatchObject({
      kind: 'finished',
      call: { dialect: 'messages', servedBy: 'vendorb' },
      result: { usage: { inputTokens: 7, outputTokens: 9, cacheReadTokens: 3 } },
    })
  })

  it('report an error of the upstream as a failure, with its status', async () => {
    upstream.restart(answersJson({ error: { message: 'no' } }, { status: 429 }))
    await (await gateway.post('/v1/chat/completions', chat)).text()
    expect(await gateway.ended()).toMatchObject({ kind: 'failed', result: { outcome: 'whole', status: 429 } })
  })

  it('report silence, a broken stream, a caller that leaves and a session that ends as failures', async () => {
    upstream.restart(neverAnswers)
    await (await gateway.post('/v1/chat/completions', chat)).text()
    expect(await gateway.ended()).toMatchObject({ kind: 'failed', result: { outcome: 'timeout', status: null } })

    gateway.events.length = 0
    upstream.restart(streams(['data: {"choices":[]}\n\n'], { end: 'breaks' }))
    await (await gateway.post('/v1/chat/completions', { ...chat, stream: true })).text().catch(() => '')
    expect(await gateway.ended()).toMatchObject({ kind: 'failed', result: { outcome: 'cut', status: 200 } })

    gateway.events.length = 0
    upstream.restart(neverAnswers)
    const leaving = new AbortController()
    const left = gateway.post('/v1/chat/completions', chat, { signal: leaving.signal }).catch(() => null)
    await expect.poll(() => upstream.calls.length).toBe(1)
    leaving.abort()
    await left
    expect(await gateway.ended()).toMatchObject({ kind: 'failed', result: { outcome: 'left', status: null } })

    gateway.events.length = 0
    upstream.restart(neverAnswers)
    const ending = gateway.post('/v1/chat/completions', chat)
    await expect.poll(() => [gateway.watched(), upstream.calls.length]).toEqual([1, 1])
    gateway.endSession()
    await (await ending).text()
    expect(await gateway.ended()).toMatchObject({ kind: 'failed', result: { outcome: 'ended' } })
  })

  it('do not exist for a call that is not sent', async () => {
    await gateway.post('/v1/chat/completions', { ...chat, model: 'svc/none' }, { headers: SESSION })
    expect(gateway.events).toEqual([])
  })
})

describe('call events in the database', () => {
  it('are rows in their order, with growing ids, and all of them are saved before the service stops', async () => {
    await using upstream = await startUpstream(answersJson(answer))
    const service = await startService({ env: { SVC_VENDORA_UPSTREAM_URL: upstream.url.href } })
    // The test's database is emptied when the service closes it, so the test looks at what is written on the way.
    const written: string[] = []
    const { prisma, execute } = service.database
    Object.assign(service.database, {
      execute(statement: Sql) {
        const arrays = statement.values.filter((value) => value instanceof Uint8Array)
        written.push(
          ...arrays.flatMap(
            (bytes) =>
              Buffer.from(bytes)
                .toString()
                .match(/started|finished/g) ?? [],
          ),
        )
        return execute(statement)
      },
    })
    const { accessToken } = await service.signIn('ada@example.com')
    const headers = { authorization: `Bearer ${accessToken}`, ...SESSION }
    await (await service.fetch('/v1/chat/completions', json(chat, headers))).text()
    await expect.poll(() => prisma.callEvent.count(), { timeout: 5000 }).toBe(2)
    const rows = await prisma.callEvent.findMany({
      where: { team: '@acme/core', sessionId: 'run-1' },
      orderBy: { id: 'asc' },
    })
    expect(rows.map(({ kind }) => kind)).toEqual(['started', 'finished'])
    expect(rows[0]).toMatchObject({ model: 'vendora/large', servedBy: 'vendora', outcome: null, durationMs: null })
    expect(rows[1]).toMatchObject({
      attempts: null,
      outcome: 'whole',
      status: 200,
      durationMs: 0,
      firstByteMs: 0,
      uncachedTokens: 4,
      cachedTokens: 8,
      outputTokens: 3,
      costNanoUsd: null,
    })
    expect(new Set(rows.map(({ requestId }) => requestId)).size).toBe(1)

    await (await service.fetch('/v1/chat/completions', json(chat, headers))).text()
    await service[Symbol.asyncDispose]()
    expect(written).toHaveLength(4)
  })

  it('are saved once when their batch comes twice', async () => {
    await using upstream = await startUpstream(answersJson(answer))
    await using gateway = await startGateway({
      team: { models: [servedModel('vendora/large')] },
      vendora: upstream.url,
    })
    await using service = await startService()
    await (await gateway.post('/v1/chat/completions', chat, { headers: SESSION })).text()
    await expect.poll(() => gateway.events.length, { timeout: 5000 }).toBe(2)
    const events = gateway.events.map((event) => ({
      ...event,
      call: { ...event.call, caller: { ...event.call.caller, accountId: ID, sessionId: ID } },
    }))
    const { save } = makeCallEventStore(service.database)
    await save({ id: 'batch_1', events })
    await save({ id: 'batch_1', events })
    expect(await service.database.prisma.callEvent.count()).toBe(2)
    await save({ id: 'batch_2', events })
    expect(await service.database.prisma.callEvent.count()).toBe(4)
  })

  it('name the API key and the service account of a call with a key, which has no device session', async () => {
    await using service = await startService()
    const key = { id: ID, models: null, serviceAccount: 'service:builds' }
    const caller = { accountId: ID, sessionId: ID, sessionKind: 'api_key', team: '@acme/core', key } as const
    const call = { requestId: 'req_1', sessionId: null, dialect: 'chat', model: 'm', servedBy: 'vendora' } as const
    const event = {
      kind: 'started',
      at: new Date(),
      call: { ...call, caller: caller as Caller },
      result: null,
    } as const
    const { prisma } = service.database
    await makeCallEventStore(service.database).save({ id: 'batch_1', events: [event] })
    expect(await prisma.callEvent.findFirst()).toMatchObject({
      keyId: ID,
      serviceAccount: 'service:builds',
      deviceSessionId: null,
    })
  })

  it('may be saved later while their table is not that of this version', async () => {
    await using service = await startService()
    const { prisma } = service.database
    const { save } = makeCallEventStore(service.database)
    const caller = { accountId: ID, sessionId: ID, team: '@acme/core' } as Caller
    const call = { requestId: 'r', caller, sessionId: null, dialect: 'chat', model: 'm', servedBy: 'vendora' } as const
    const batch = { id: 'batch_1', events: [{ kind: 'started', at: new Date(), call, result: null } as const] }
    await prisma.$executeRaw`ALTER TABLE "call_events" RENAME TO "others"`
    expect(mayWriteLater(await save(batch).catch((error: unknown) => error))).toBe(true)
    await prisma.$executeRaw`ALTER TABLE "others" RENAME TO "call_events"`
    await save(batch)
    expect(await prisma.callEvent.count()).toBe(1)
  })

  it('sum up a session by the times of its calls, also when the earlier ones have waited in the spool', async () => {
    await using service = await startService()
    const { save } = makeCallEventStore(service.database)
    const [first, last] = ['2026-11-21T10:00:10.000Z', '2026-11-21T10:05:00.000Z']
    const call = { sessionId: 'run-1' }
    await save({ id: 'batch_2', events: [endedCall({ at: last, call: { ...call, model: 'later' } })] })
    await save({ id: 'batch_1', events: [endedCall({ at: first, call: { ...call, model: 'earlier' } })] })
    expect(await service.database.prisma.agentSession.findFirst()).toMatchObject({
      startedAt: new Date(first),
      lastActiveAt: new Date(last),
      model: 'later',
      calls: 2,
    })
  })

  it('hold every session id unchanged, whatever its characters', async () => {
    await using service = await startService()
    const names = ['NULL', '"', '\\', '\\"', '{a,b}', "'", ',', '$1', '{}', 'null"\\,']
    const caller = { accountId: ID, sessionId: ID, team: '@acme/core' } as Caller
    const call = { requestId: 'req_1', caller, dialect: 'chat', model: 'm', servedBy: 'vendora' } as const
    const events = names.map((sessionId) => {
      return { kind: 'started', at: new Date(), call: { ...call, sessionId }, result: null } as const
    })
    const { prisma } = service.database
    await makeCallEventStore(service.database).save({ id: 'batch_1', events })
    const rows = await prisma.callEvent.findMany({ orderBy: { id: 'asc' } })
    expect(rows.map(({ sessionId }) => sessionId)).toEqual(names)
  })
})
