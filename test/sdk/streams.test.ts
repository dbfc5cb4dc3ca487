import { describe, expect, it, vi } from 'vitest'
import {
  createClient,
  events,
  streamChatCompletion,
  streamMessage,
  streamResponse,
  SvcError,
  unwrap,
} from '../../generated/sdk/index.js'
import { cpuSecondsOf } from '../support/cpu-seconds.ts'
import { withDeadline } from '../support/wait.ts'

const SSE = { headers: { 'content-type': 'text/event-stream', 'x-request-id': 'req_7' } }
const chunk = { id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [] }

function stream(bytes: Uint8Array[], onCancel = () => {}): ReadableStream<Uint8Array> {
  return new ReadableStream({
    pull(to) {
      const next = bytes.shift()
      if (next) to.enqueue(next)
      else to.close()
    },
    cancel: onCancel,
  })
}

const bytesOf = (text: string) => new TextEncoder().encode(text)
const block = (data: unknown, event = '') => `${event && `event: ${event}\n`}data: ${JSON.stringify(data)}\n\n`
const clientOf = (answer: () => Response, seen: Request[] = []) =>
  createClient({
    baseUrl: 'http://svc.test',
    async fetch(request) {
      seen.push(request)
      return answer()
    },
  })
const streaming = (text: string) => clientOf(() => new Response(stream([bytesOf(text)]), SSE))

async function all<T>(from: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = []
  for await (const one of from) found.push(one)
  return found
}

describe('events', () => {
  const text =
    ': hi\r\n\r\nevent: a\r\ndata: {"n":\r\ndata: 1}\r\n\r\ndata:{"t":"ü€😀"}\n\nid: 7\n\ndata: {"n":3}\r\rdata: [DONE]\n\ndata: {"n":4}\n\n'

  it('are the same for every way to cut the bytes into chunks', async () => {
    const bytes = bytesOf(text)
    for (let at = 0; at <= bytes.length; at++) {
      const found = await all(events(stream([bytes.slice(0, at), bytes.slice(at)])))
      expect(found, `cut at ${at}`).toEqual([{ n: 1 }, { t: 'ü€😀' }, { n: 3 }])
    }
    const single = await all(events(stream(Array.from(bytes, (byte) => Uint8Array.of(byte)))))
    expect(single).toEqual([{ n: 1 }, { t: 'ü€😀' }, { n: 3 }])
  })

  it('throw a StreamError for data that is not a JSON object', async () => {
    const error = { name: 'StreamError', code: 'stream_failed', requestId: null, body: '{"n":' }
    await expect(all(events(stream([bytesOf('data: {"n":\n\n')])))).rejects.toMatchObject(error)
  })

  it('drop an event that was cut off', async () => {
    expect(await all(events(stream([bytesOf('data: {"n":1}\n\ndata: {"n":')])))).toEqual([{ n: 1 }])
  })

  it.each(['before', 'while'])('end with the reason of a signal that is aborted %s they are read', async (when) => {
    const cancel = new AbortController()
    const abort = () => cancel.abort(new Error('Stopped by the user.'))
    const onCancel = vi.fn()
    if (when === 'before') abort()
    else setTimeout(abort)
    const read = all(events(new ReadableStream({ cancel: onCancel }), { signal: cancel.signal }))
    await expect(withDeadline('the events to end', read)).rejects.toThrow('Stopped by the user.')
    expect(onCancel).toHaveBeenCalledOnce()
  })

  it('are read in linear time, so that one with a picture does not block the program', async () => {
    const picture = 'a'.repeat(5_000_000)
    const bytes = bytesOf(block({ picture }))
    const chunks = Array.from({ length: Math.ceil(bytes.length / 5000) }, (_, at) =>
      bytes.subarray(at * 5000, (at + 1) * 5000),
    )
    const read: unknown[] = []
    const seconds = await cpuSecondsOf(async () => read.push(...(await all(events(stream(chunks))))))
    expect(read).toEqual([{ picture }])
    expect(seconds).toBeLessThan(0.5)
  })
})

describe('the stream functions', () => {
  it('yield the events of their dialect up to its last event', async () => {
    const done = { type: 'response.completed' }
    const stop = { type: 'message_stop' }
    expect(await all(streamChatCompletion(streaming(`${block(chunk)}data: [DONE]\n\n`), { messages: [] }))).toEqual([
      chunk,
    ])
    expect(await all(streamResponse(streaming(block(done) + block({ type: 'late' })), { input: '' }))).toEqual([done])
    expect(await all(streamMessage(streaming(block({ type: 'ping' }) + block(stop)), { messages: [] }))).toEqual([
      { type: 'ping' },
      stop,
    ])
  })

  it('set stream: true and call the given route', async () => {
    const seen: Request[] = []
    const client = clientOf(() => new Response(stream([bytesOf(block({ type: 'response.failed' }))]), SSE), seen)
    await all(streamResponse(client, { input: 'x', stream: false }, { path: '/codex/v1/responses' }))
    expect(seen[0]?.url).toBe('http://svc.test/codex/v1/responses')
    expect(await seen[0]?.json()).toEqual({ input: 'x', stream: true })
  })

  it.each([
    ['chat completions', (text: string) => streamChatCompletion(streaming(text), { messages: [] })],
    ['responses', (text: string) => streamResponse(streaming(text), { input: '' })],
    ['messages', (text: string) => streamMessage(streaming(text), { messages: [] })],
  ])('throw a StreamError when a stream of %s is cut off', async (_dialect, call) => {
    await expect(all<unknown>(call(block({ ...chunk, type: 'ping' })))).rejects.toMatchObject({
      name: 'StreamError',
      code: 'stream_cut',
      requestId: 'req_7',
    })
  })

  it('throw a StreamError when the connection breaks', async () => {
    const body = new ReadableStream<Uint8Array>({
      start: (to) => to.enqueue(bytesOf(block(chunk))),
      pull: (to) => to.error(new TypeError('terminated')),
    })
    const broken = clientOf(() => new Response(body, SSE))
    const seen: unknown[] = []
    const read = async () => {
      for await (const one of streamChatCompletion(broken, { messages: [] })) seen.push(one)
    }
    await expect(read()).rejects.toMatchObject({ name: 'StreamError', code: 'stream_cut', requestId: 'req_7' })
    expect(seen).toEqual([chunk])
  })

  it.each([
    [{ error: { code: 'upstream_failed', message: 'It broke.' } }, 'upstream_failed'],
    [{ type: 'error', error: { type: 'overloaded_error', message: 'It broke.' } }, 'overloaded_error'],
    [{ type: 'error', code: 'server_error', message: 'It broke.' }, 'server_error'],
    [{ error: 'It broke.' }, 'stream_failed'],
  ])('throw an error event of the stream: %j', async (event, code) => {
    const call = all<unknown>(streamMessage(streaming(block(event, 'error')), { messages: [] }))
    await expect(call).rejects.toMatchObject({ name: 'StreamError', code, message: 'It broke.' })
  })

  it.each(['{"choices":', 'null', '"text"'])(
    'throw a StreamError for an event that is no JSON object: %s',
    async (text) => {
      const call = all(streamChatCompletion(streaming(`${block(chunk)}data: ${text}\n\n`), { messages: [] }))
      await expect(call).rejects.toMatchObject({
        name: 'StreamError',
        code: 'stream_failed',
        requestId: 'req_7',
        body: text,
      })
    },
  )

  it('cancel the call when the loop is left', async () => {
    let cancelled = false
    const body = () => stream([bytesOf(block(chunk)), bytesOf(block(chunk))], () => (cancelled = true))
    for await (const _ of streamChatCompletion(
      clientOf(() => new Response(body(), SSE)),
      { messages: [] },
    ))
      break
    expect(cancelled).toBe(true)
  })

  it('yield nothing after an abort, even if it has arrived before', async () => {
    const cancel = new AbortController()
    const seen: unknown[] = []
    const whole = streaming(`${block(chunk)}${block(chunk)}data: [DONE]\n\n`)
    const read = async () => {
      for await (const one of streamChatCompletion(whole, { messages: [] }, { signal: cancel.signal })) {
        seen.push(one)
        cancel.abort(new Error('Stopped by the user.'))
      }
    }
    await expect(read()).rejects.toThrow('Stopped by the user.')
    expect(seen).toHaveLength(1)
  })

  it('throw a StreamError when a proxy answers without a body', async () => {
    const empty = clientOf(() => new Response(null, { headers: { 'content-length': '0' } }))
    const call = all<unknown>(streamMessage(empty, { messages: [] }))
    await expect(call).rejects.toMatchObject({ name: 'StreamError', code: 'stream_cut' })
  })

  it('throw the error answer of a call that did not stream', async () => {
    const forbidden = () =>
      Response.json(
        { type: 'error', error: { type: 'permission_error', code: 'model_not_allowed', message: 'No.' } },
        { status: 403, headers: { 'x-request-id': 'req_8' } },
      )
    const call = all(streamChatCompletion(clientOf(forbidden), { messages: [] }))
    await expect(call).rejects.toMatchObject({
      name: 'NotAllowedError',
      code: 'model_not_allowed',
      status: 403,
      requestId: 'req_8',
    })
  })
})

describe('unwrap', () => {
  it.each([
    [401, 'NotSignedInError'],
    [403, 'NotAllowedError'],
    [410, 'ExpiredError'],
    [429, 'RateLimitedError'],
    [502, 'UnavailableError'],
    [404, 'SvcError'],
  ])('throws for %i a %s', async (status, name) => {
    const body = { error: { code: 'some_code', message: 'Words.' } }
    const client = clientOf(() => Response.json(body, { status, headers: { 'retry-after': '70' } }))
    const error = await unwrap(client.GET('/v1/models')).catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(SvcError)
    expect(error).toMatchObject({ name, status, code: 'some_code', message: 'Words.', retryAfterSeconds: 70, body })
  })

  it('has the id of the service’s log where a vendor has answered with an id of its own', async () => {
    const headers = { 'x-request-id': 'vendor_1', 'x-svc-request-id': 'req_7' }
    const client = clientOf(() => Response.json({ error: { message: 'Overloaded.' } }, { status: 529, headers }))
    await expect(unwrap(client.GET('/v1/models'))).rejects.toMatchObject({ status: 529, requestId: 'req_7' })
  })

  it('throws an error for an answer that is not JSON', async () => {
    const client = clientOf(() => new Response('<h1>Bad gateway</h1>', { status: 502 }))
    await expect(unwrap(client.GET('/v1/models'))).rejects.toMatchObject({ code: 'http_502', requestId: null })
  })

  it('throws the code and the message of an OAuth operation', async () => {
    const body = { error: 'invalid_grant', error_description: 'The refresh token has expired. Sign in again.' }
    const client = clientOf(() => Response.json(body, { status: 401 }))
    const call = unwrap(client.POST('/oauth/token', { body: { grant_type: 'refresh_token', refresh_token: 'x' } }))
    await expect(call).rejects.toMatchObject({
      name: 'NotSignedInError',
      code: 'invalid_grant',
      message: body.error_description,
    })
  })

  it.each([200, 204])('throws an SvcError when a proxy answers %i without content', async (status) => {
    const client = clientOf(() => new Response(null, { status, headers: { 'content-length': '0' } }))
    const error = { name: 'SvcError', code: 'unexpected_answer', status }
    await expect(unwrap(client.GET('/v1/models'))).rejects.toMatchObject(error)
  })

  it('throws an SvcError when the sign-in page of a network answers', async () => {
    const page = { headers: { 'content-type': 'text/html; charset=utf-8' } }
    const client = clientOf(() => new Response('<h1>Welcome to our wireless network</h1>', page))
    const error = { name: 'SvcError', code: 'unexpected_answer', status: 200 }
    await expect(unwrap(client.GET('/v1/models'))).rejects.toMatchObject(error)
    await expect(all<unknown>(streamMessage(client, { messages: [] }))).rejects.toMatchObject(error)
    expect(await unwrap(client.GET('/docs', { parseAs: 'text' }))).toContain('Welcome')
  })

  it('throws an SvcError with the request id when an answer of type JSON is not JSON', async () => {
    const headers = { 'content-type': 'application/json', 'x-request-id': 'req_7' }
    const client = clientOf(() => new Response('{"data":', { headers }))
    const error = { name: 'SvcError', code: 'unexpected_answer', status: 200, requestId: 'req_7' }
    await expect(client.GET('/v1/models')).rejects.toMatchObject(error)
  })
})
