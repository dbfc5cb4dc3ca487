import { connect } from 'node:net'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { readContract, routesOf } from '../../src/http/contract.ts'
import { isOpen } from '../support/contract/contract-request.ts'
import { heapUsed } from '../support/garbage.ts'
import { people } from '../support/people.ts'
import { ask, bytes, json, messageOf, outcomeOf } from '../support/requests.ts'
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
  // Errors of these routes have the form of RFC 6749.
  .filter(({ path }) => !path.startsWith('/oauth/'))
  .map((route) => ({
    ...route,
    path: route.path.replace('{team}', '%40acme%2Fcore').replaceAll(/\{\w+\}/g, 'some-id'),
  }))
/** Reports of clients have a body of any type, which is not read. */
const posts = routes.filter(
  ({ method, operation }) => method === 'post' && operation.requestBody && !('*/*' in operation.requestBody.content),
)
const acceptsJson = (path: string) =>
  posts.some((route) => route.path === path && 'application/json' in (route.operation.requestBody?.content ?? {}))

describe('memory', () => {
  it('does not grow with the number of distinct content types', async () => {
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
    await send(0, 50)
    const before = await heapUsed()
    await send(50, 150)
    // A cache entry per content type would keep more than 10 KB each: 2 MB for these 200.
    expect((await heapUsed()) - before).toBeLessThan(1_000_000)
  })
})

describe('a request body', () => {
  it.each(posts.map(({ path }) => path))('that is not a JSON object is refused: %s', async (path) => {
    for (const body of ['{', '{"a":1,}', 'null', '[]', '"text"', '1', 'NaN', '{"a":1}garbage', '\ufeff{', '\0']) {
      const response = await service.fetch(path, bytes(body, 'application/json'))
      // A page of a team asks for a sign-in before it looks at the form.
      const mayAskFirst = acceptsJson(path) || path.startsWith('/teams/')
      const expected = mayAskFirst ? /^400 invalid_request|^401 / : /^400 invalid_request|^415 unsupported_media_type/
      expect(await outcomeOf(response), body).toMatch(expected)
    }
  })

  it.each([17 * 1024, 10 * 1024 * 1024])('of %d bytes is refused', async (size) => {
    expect(await outcomeOf(await service.fetch(START, json({ email: 'x'.repeat(size) })))).toBe('413 payload_too_large')
  })

  it('of 40 MB is refused before all of it has arrived', async () => {
    const length = 40 * 1024 * 1024
    let sent = 0
    const answer = await sendRaw(service.port, headOf(START, length), () => {
      sent += 65_536
      return ' '.repeat(65_536)
    })
    expect(answer).toMatch(/^HTTP\/1\.1 413 /)
    expect(sent).toBeLessThan(length)
  })

  it('of 40 MB without a credential is refused without being read', async () => {
    for (const path of ['/device', '/v1/chat/completions', '/v1/responses', '/vendorb/v1/messages']) {
      // No byte of the body is sent.
      const answer = await sendRaw(service.port, headOf(path, 40 * 1024 * 1024), () => '')
      expect(answer, path).toMatch(/^HTTP\/1\.1 401 /)
    }
    expect((await service.fetch('/healthz')).status).toBe(200)
  })

  it('of exactly 16 KiB is read and validated', async () => {
    const rest = JSON.stringify({ email: '', deviceId: 'x' }).length
    const response = await service.fetch(START, json({ email: 'x'.repeat(16 * 1024 - rest), deviceId: 'x' }))
    expect(await outcomeOf(response)).toBe('400 invalid_request')
  })

  it('of 1 MB in chunks, without a Content-Length, is refused', async () => {
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

  it('that decompresses to 50 MB is refused', async () => {
    const bomb = gzipSync(Buffer.alloc(50 * 1024 * 1024))
    const response = await service.fetch(START, bytes(bomb, 'application/json', { 'content-encoding': 'gzip' }))
    expect(await outcomeOf(response)).toBe('413 payload_too_large')
  })

  it.each([
    ['JSON', START, '{"email":"a","deviceId":"\xff"}', 'application/json'],
    ['larger JSON', '/v1/auth/passkeys/login/finish', '{"email":"\xff"}', 'application/json'],
    ['a form', '/v1/auth/magic/consume', 'token=\xff', 'application/x-www-form-urlencoded'],
  ])('that is not valid UTF-8 is refused as such: %s', async (_, path, body, type) => {
    const response = await service.fetch(path, bytes(Buffer.from(body, 'latin1'), type))
    expect([response.status, await messageOf(response)]).toEqual([400, 'The body is not valid UTF-8.'])
  })

  it.each([
    ['of an object', START, '{"email":"a@example.com","deviceId":"x","email":"b@example.com"}', 'email'],
    ['that is escaped', START, '{"email":"a@example.com","deviceId":"x","e\\u006dail":"b@example.com"}', 'email'],
    ['of an inner object', '/v1/auth/passkeys/login/finish', '{"response":{"id":"a","id":"b"}}', 'id'],
  ])('that has a name twice is refused as such: %s', async (_, path, body, name) => {
    const response = await service.fetch(path, bytes(body, 'application/json'))
    const message = `The field ${name} is in the body twice. Send each field once.`
    expect([response.status, await messageOf(response)]).toEqual([400, message])
  })

  it('that is small and compressed is accepted', async () => {
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

  it('of deeply nested arrays is refused without a server error', async () => {
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
    ['that is missing', 415, []],
    ['that is empty', 415, ['']],
    ['of XML', 415, ['text/xml']],
    ['with spaces around a charset', 415, ['application/json; charset = utf-7']],
    ['with two charsets', 415, ['application/json; charset=utf-8; charset=utf-7']],
    ['that is sent twice with different charsets', 415, ['application/json', 'application/json; charset=utf-7']],
    ['with the charset UTF-16', 415, ['application/json; charset=utf-16']],
    ['that cannot be parsed', 415, ['???']],
    ['in capitals', 202, ['APPLICATION/JSON']],
    ['with the charset UTF-8', 202, ['application/json; charset="utf-8"']],
    ['that is sent twice', 202, ['application/json', 'application/json']],
    ['that is sent twice with different values', 415, ['text/plain', 'application/json']],
  ] as const)('%s is answered %d', async (_, status, types) => {
    const answer = await send(...types)
    expect(answer.status).toBe(status)
    if (status === 415) expect(answer.body).toContain('"unsupported_media_type"')
    expect(answer.body).not.toContain('undefined')
  })
})

describe('methods', () => {
  const paths = [...new Set(routes.map(({ path }) => path))]
  it.each(paths)('that a route does not have are refused with 405 and Allow: %s', async (path) => {
    const taken = routes.filter((route) => route.path === path).map(({ method }) => method.toUpperCase())
    const allow = [...taken, ...(taken.includes('GET') ? ['HEAD'] : [])].sort()
    for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'PROPFIND']) {
      if (taken.includes(method)) continue
      const answer = await ask(service.port, { method, path })
      expect(answer.status, method).toBe(405)
      expect(JSON.parse(answer.body), method).toMatchObject({ type: 'error', error: { code: 'method_not_allowed' } })
      expect(answer.headers.allow?.split(', ').sort(), method).toEqual(allow)
      expect(answer.body, method).toContain(`This route supports ${answer.headers.allow}, but not ${method}.`)
    }
  })

  it.each(paths)('HEAD answers as GET without a body: %s', async (path) => {
    const [get, head] = [await ask(service.port, { path }), await ask(service.port, { method: 'HEAD', path })]
    expect(head.body).toBe('')
    expect(head.status).toBe(get.status)
    expect(head.headers['content-type']).toBe(get.headers['content-type'])
  })
})

describe('an unknown path', () => {
  it.each([
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
  ])('is answered 404 with the error envelope: %s', async (path) => {
    const answer = await ask(service.port, { path })
    expect(answer.status).toBe(404)
    expect(JSON.parse(answer.body)).toMatchObject({ type: 'error', error: { code: 'not_found' } })
    expect(answer.headers['x-request-id']).toMatch(/^req_/)
  })
})

describe('answers', () => {
  it('name no software and show no stack trace', async () => {
    for (const path of ['/', '/device', '/healthz', '/v1/auth/magic/consume?token=x']) {
      const answer = await ask(service.port, { path, headers: ['Accept', '*/*'] })
      expect(answer.headers['x-powered-by']).toBeUndefined()
      expect(answer.headers.server).toBeUndefined()
      expect(answer.body).not.toMatch(/node_modules|\.ts:|at Object/)
    }
  })

  it('to a caller are kept out of shared caches, which may not know that a header is a credential', async () => {
    const { accessToken } = await service.signIn(persons.next())
    const headers = ['Authorization', `Bearer ${accessToken}`]
    const lists = routes.filter(({ method, operation }) => method === 'get' && !isOpen(operation))
    expect(lists.length).toBeGreaterThan(30)
    for (const { path } of lists) {
      const answer = await ask(service.port, { path, headers })
      expect(answer.headers['cache-control'], path).toMatch(/^no-store$|^private\b/)
    }
  })

  it('of open routes say whether caches may store them, and are the same for everybody where they may', async () => {
    const cacheable: string[] = []
    const open = routes.filter(({ method, operation }) => method === 'get' && isOpen(operation))
    expect(open.length).toBeGreaterThan(15)
    for (const { path } of open) {
      const cached = (await ask(service.port, { path })).headers['cache-control']
      expect(cached, path).toMatch(/^no-store$|^public, max-age=300$/)
      if (cached !== 'no-store') cacheable.push(path)
    }
    const constant = /^\/(assets\/|docs\/|favicon\.ico$|openapi\.json$|\.well-known\/jwks\.json$)/
    expect(cacheable.filter((path) => !constant.test(path))).toEqual([])
  })

  it('with an error have Cache-Control: no-store', async () => {
    for (const path of ['/v1', '/device', '/v1/models'])
      expect((await ask(service.port, { path })).headers['cache-control'], path).toBe('no-store')
  })
})

function headOf(path: string, length: number): string {
  return `POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: ${length}\r\n\r\n`
}

/** Sends a head and then the texts of `more`, until an answer arrives or the connection is closed. */
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
