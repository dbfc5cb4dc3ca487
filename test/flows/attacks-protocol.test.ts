import { connect } from 'node:net'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { readContract, routesOf } from '../../src/http/contract.ts'
import { people } from '../support/people.ts'
import { ask, bytes, json, outcomeOf } from '../support/requests.ts'
import { startService } from '../support/service.ts'
import type { TestService } from '../support/service.ts'

const START = '/v1/auth/device/start'
const persons = people()
let service: TestService

beforeAll(async () => {
  service = await startService({ directory: persons.directory })
})
afterAll(() => service[Symbol.asyncDispose]())

const routes = routesOf(readContract())
  // These speak the errors of RFC 6749, which have another form.
  .filter(({ path }) => !path.startsWith('/oauth/'))
  .map((route) => ({
    ...route,
    path: route.path.replace('{team}', '%40acme%2Fcore').replaceAll(/\{\w+\}/g, 'some-id'),
  }))
const posts = routes.filter(({ method, operation }) => method === 'post' && operation.requestBody)

/** Bytes of the heap that stay after everything unused is gone. */
function keptBytes(): number {
  setFlagsFromString('--expose-gc')
  ;(runInNewContext('gc') as () => void)()
  return process.memoryUsage().heapUsed
}

describe('memory', () => {
  it('does not grow with the content types that strangers make up', { timeout: 60_000 }, async () => {
    const send = async (from: number, to: number) => {
      for (let index = from; index < to; index += 1) {
        await ask(service.port, { path: '/healthz', headers: ['Content-Type', `x/${index}`] })
        await ask(service.port, {
          method: 'POST',
          path: START,
          headers: ['Content-Type', `application/json; v=${index}`],
          body: '{}',
        })
      }
    }
    await send(0, 100)
    const before = keptBytes()
    await send(100, 400)
    // Unreduced, each distinct type would cost more than 10 KB for ever: 600 of them 6 MB.
    expect(keptBytes() - before).toBeLessThan(2_000_000)
  })
})

describe('a body', () => {
  it.each(posts.map(({ path }) => path))('that is not JSON is refused: %s', async (path) => {
    for (const body of ['{', '{"a":1,}', 'null', '[]', '"text"', '1', 'NaN', '{"a":1}garbage', '\ufeff{', '\0']) {
      const response = await service.fetch(path, bytes(body, 'application/json'))
      expect([400, 401], body).toContain(response.status)
      expect(await outcomeOf(response)).toMatch(/^400 invalid_request|^401 /)
    }
  })

  it.each([17 * 1024, 10 * 1024 * 1024])('of %d bytes is refused', async (size) => {
    expect(await outcomeOf(await service.fetch(START, json({ email: 'x'.repeat(size) })))).toBe('413 payload_too_large')
  })

  it('of 40 MB is refused before it has arrived', async () => {
    const length = 40 * 1024 * 1024
    const head = `POST ${START} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: ${length}\r\n\r\n`
    let sent = 0
    const answer = await sendRaw(service.port, head, () => {
      sent += 65_536
      return ' '.repeat(65_536)
    })
    expect(answer).toMatch(/^HTTP\/1\.1 413 /)
    expect(sent).toBeLessThan(length)
  })

  it('of 40 MB of somebody who is nobody is not read at all', async () => {
    const body = Buffer.alloc(40 * 1024 * 1024, 0x20)
    for (const path of ['/device', '/v1/chat/completions', '/v1/responses', '/vendorb/v1/messages']) {
      const response = await service.fetch(path, bytes(body, 'application/json')).catch(() => null)
      // The service may hang up on somebody who goes on sending.
      if (response) expect(response.status, path).toBe(401)
    }
    expect((await service.fetch('/healthz')).status).toBe(200)
  })

  it('of exactly 16 KiB is read', async () => {
    const rest = JSON.stringify({ email: '', deviceId: 'x' }).length
    const response = await service.fetch(START, json({ email: 'x'.repeat(16 * 1024 - rest), deviceId: 'x' }))
    expect(await outcomeOf(response)).toBe('400 invalid_request')
  })

  it('of 1 MB in chunks, which declare no length, is refused', async () => {
    const chunk = `1000\r\n${' '.repeat(4096)}\r\n`
    let left = 256
    const answer = await sendRaw(
      service.port,
      `POST ${START} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n`,
      () => (left-- > 0 ? chunk : left === -1 ? '0\r\n\r\n' : ''),
    )
    expect(answer).toMatch(/^HTTP\/1\.1 413 /)
    expect(answer).toContain('payload_too_large')
  })

  it('that inflates to gigabytes is refused after 16 KiB of it', async () => {
    const bomb = gzipSync(Buffer.alloc(50 * 1024 * 1024))
    const response = await service.fetch(START, bytes(bomb, 'application/json', { 'content-encoding': 'gzip' }))
    expect(await outcomeOf(response)).toBe('413 payload_too_large')
  })

  it('that is compressed and small is read', async () => {
    const body = gzipSync(JSON.stringify({ email: persons.next(), deviceId: 'x' }))
    const response = await service.fetch(START, bytes(body, 'application/json', { 'content-encoding': 'gzip' }))
    expect(response.status).toBe(202)
  })

  it.each([
    ['broken', 'gzip', '400 invalid_request'],
    ['unknown', 'rot13', '415 unsupported_media_type'],
  ])('in a %s encoding is refused', async (_, encoding, outcome) => {
    const response = await service.fetch(START, bytes('{}', 'application/json', { 'content-encoding': encoding }))
    expect(await outcomeOf(response)).toBe(outcome)
  })

  it('of a deep nesting is no crash', async () => {
    const response = await service.fetch(START, bytes('['.repeat(8000), 'application/json'))
    expect(await outcomeOf(response)).toBe('400 invalid_request')
    const nested = `{"email":${'['.repeat(4000)}${']'.repeat(4000)},"deviceId":"x"}`
    expect(await outcomeOf(await service.fetch(START, bytes(nested, 'application/json')))).toBe('400 invalid_request')
  })
})

describe('a content type', () => {
  const body = () => JSON.stringify({ email: persons.next(), deviceId: 'x' })
  const send = (...types: string[]) =>
    ask(service.port, {
      method: 'POST',
      path: START,
      headers: types.flatMap((type) => ['Content-Type', type]),
      body: body(),
    })

  it.each([
    ['missing', [], 415],
    ['empty', [''], 415],
    ['XML', ['text/xml'], 415],
    ['in UTF-16', ['application/json; charset=utf-16'], 415],
    ['something that is no type', ['???'], 415],
    ['in capitals', ['APPLICATION/JSON'], 202],
    ['in UTF-8', ['application/json; charset="utf-8"'], 202],
    ['said twice', ['application/json', 'application/json'], 202],
    ['said twice, and differently', ['text/plain', 'application/json'], 415],
  ] as const)('%s', async (_, types, status) => {
    const answer = await send(...types)
    expect(answer.status).toBe(status)
    if (status === 415) expect(answer.body).toContain('"unsupported_media_type"')
    expect(answer.body).not.toContain('undefined')
  })
})

describe('a method that a route does not take', () => {
  const paths = [...new Set(routes.map(({ path }) => path))]
  it.each(paths)('is 405 with Allow: %s', async (path) => {
    const taken = routes.filter((route) => route.path === path).map(({ method }) => method.toUpperCase())
    const allow = [...taken, ...(taken.includes('GET') ? ['HEAD'] : [])].sort()
    for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'PROPFIND']) {
      if (taken.includes(method)) continue
      const answer = await ask(service.port, { method, path })
      expect(answer.status, method).toBe(405)
      expect(JSON.parse(answer.body), method).toMatchObject({ type: 'error', error: { code: 'method_not_allowed' } })
      expect(answer.headers.allow?.split(', ').sort(), method).toEqual(allow)
    }
  })

  it.each(paths)('HEAD is GET without a body, or 405: %s', async (path) => {
    const [get, head] = [await ask(service.port, { path }), await ask(service.port, { method: 'HEAD', path })]
    expect(head.body).toBe('')
    expect(head.status).toBe(get.status)
    expect(head.headers['content-type']).toBe(get.headers['content-type'])
  })
})

describe('a path that is none', () => {
  it.each([
    '/',
    '/v1',
    '/v1/auth',
    '/DEVICE',
    '/v1/auth/device/start/x',
    '//device',
    '/device%2f',
    '/device;x',
    '/%',
    '/v1/teams/',
    '/../etc/passwd',
  ])('is 404 with the envelope: %s', async (path) => {
    const answer = await ask(service.port, { path })
    expect(answer.status).toBe(404)
    expect(JSON.parse(answer.body)).toMatchObject({ type: 'error', error: { code: 'not_found' } })
    expect(answer.headers['x-request-id']).toMatch(/^req_/)
  })
})

describe('every answer', () => {
  it('names no software and shows no stack', async () => {
    for (const path of ['/', '/device', '/healthz', '/v1/auth/magic/consume?token=x']) {
      const answer = await ask(service.port, { path, headers: ['Accept', '*/*'] })
      expect(answer.headers['x-powered-by']).toBeUndefined()
      expect(answer.headers.server).toBeUndefined()
      expect(answer.body).not.toMatch(/node_modules|\.ts:|at Object/)
    }
  })

  it('of an error is not stored', async () => {
    for (const path of ['/', '/device', '/v1/models'])
      expect((await ask(service.port, { path })).headers['cache-control'], path).toBe('no-store')
  })
})

/** Sends a head and then goes on sending, until an answer comes or the other side hangs up. */
function sendRaw(port: number, head: string, more: () => string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1')
    let answer = ''
    let timer: NodeJS.Timeout | undefined
    const end = () => {
      clearInterval(timer)
      socket.destroy()
      resolve(answer)
    }
    socket.on('connect', () => {
      socket.write(head)
      timer = setInterval(() => void socket.write(more()), 1)
    })
    socket.on('data', (chunk) => {
      answer += chunk.toString()
      if (answer.includes('\r\n\r\n') && answer.includes('}}')) end()
    })
    socket.on('close', end)
    socket.on('error', (error: NodeJS.ErrnoException) => (answer ? end() : reject(error)))
  })
}
