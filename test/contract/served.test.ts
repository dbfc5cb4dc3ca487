import { execFile } from 'node:child_process'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import path from 'node:path'
import { promisify } from 'node:util'
import type { RequestHandler } from 'express'
import { describe, expect, it } from 'vitest'
import { createApp } from '../../src/http/app.ts'
import { mount } from '../../src/http/role.ts'
import { smallBody } from '../../src/http/body.ts'
import { contractOf, readContract, routesOf } from '../../src/http/contract.ts'
import type { Contract, RoleName } from '../../src/http/contract.ts'
import type { Handlers, OperationId } from '../../src/http/operation.ts'
import { ask } from '../support/requests.ts'
import { startService } from '../support/service.ts'

const PARTS: readonly RoleName[] = ['control-plane', 'gateway']
const contract = readContract()

const answersOk: RequestHandler = (_req, res) => void res.end('ok')

/** A handler for each operation of a document. */
function handlersOf(document: Contract): Partial<Handlers<OperationId>> {
  // These tests do not look at what the handlers do.
  return Object.fromEntries(routesOf(document).map(({ id }) => [id, answersOk]))
}

describe('mount', () => {
  const document = contractOf(contract, 'control-plane')

  it('accepts exactly the operations of its document', () => {
    expect(() => mount(document, handlersOf(document))).not.toThrow()
  })

  it('rejects an operation without a handler and names it', () => {
    const { pollDeviceLogin: _, ...rest } = handlersOf(document)
    expect(() => mount(document, rest)).toThrow(/Missing: pollDeviceLogin\. Not in the contract: none/)
  })

  it('rejects a handler without an operation and names it', () => {
    const extra = { ...handlersOf(document), getWealth: answersOk } as Partial<Handlers<OperationId>>
    expect(() => mount(document, extra)).toThrow(/Missing: none\. Not in the contract: getWealth/)
  })
})

describe('the parts of the contract', () => {
  it('together have every operation', () => {
    const served = new Set(PARTS.flatMap((part) => routesOf(contractOf(contract, part)).map(({ id }) => id)))
    expect(routesOf(contract).filter(({ id }) => !served.has(id))).toEqual([])
  })

  it('reject a tag that belongs to no part', () => {
    const path = { get: { operationId: 'getHealth', tags: ['Wealth'], responses: {} } } as const
    expect(() => contractOf({ ...contract, paths: { '/wealth': path } }, 'gateway')).toThrow(/"Wealth" of getHealth/)
  })

  it('have server URLs that are variables, because the validator checks only paths under a fixed server URL', () => {
    const { servers } = contract as unknown as { servers: { url: string }[] }
    expect(servers.map(({ url }) => url)).toEqual(servers.map(({ url }) => /^\{\w+\}$/.exec(url)?.[0]))
  })
})

/** What a gateway forwards to the control plane, for clients that sign in at the address of their calls. */
const FORWARDED: readonly OperationId[] = [
  'authorizeDevice',
  'getAuthorizationServer',
  'getOpenidConfiguration',
  'getVendorbAuthorizationServer',
  'issueOAuthTokens',
  'revokeOAuthToken',
]

describe.each([
  ['control-plane', ['control-plane'], []],
  ['gateway', ['gateway'], FORWARDED],
  ['all', PARTS, []],
] as const)('SVC_ROLE=%s', (role, parts, forwarded) => {
  it('serves every operation of its parts and no other', async () => {
    await using service = await startService({ env: { SVC_ROLE: role } })
    const inParts = parts.flatMap((part) => routesOf(contractOf(contract, part)).map(({ id }) => id))
    const own = new Set([...inParts, ...forwarded])
    const served: string[] = []
    for (const { id, method, path: template } of routesOf(contract)) {
      const pathname = template.replaceAll(/\{\w+\}/g, 'some-id')
      const answer = await ask(service.port, { method: method.toUpperCase(), path: pathname })
      const isRoute = !answer.body.includes('No such route.') && answer.status !== 405
      if (isRoute) served.push(id)
    }
    expect(served.sort()).toEqual([...own].sort())
    expect(own).toContain('getHealth')
  })
})

describe('the guard', () => {
  /** Serves a changed document of the control plane, with handlers that always answer 200, but for those given. */
  async function serve(change: object, handlers: Partial<Handlers<OperationId>> = {}) {
    const document = { ...contractOf(contract, 'control-plane'), ...change }
    const { app } = createApp({
      roles: [
        {
          contract: document,
          handlers: { ...handlersOf(document), ...handlers },
          schemes: { AccessToken: () => null, SessionCookie: () => null, AccessCookie: () => null },
          parseBody: smallBody(1024),
          nameAllMistakes: true,
          firstOperations: [],
          before: [],
          explainToken: async () => 'unknown',
        },
      ],
      elsewhere: null,
      log: { debug() {}, info() {}, warn() {}, error() {} },
      trustProxy: undefined,
      secure: false,
      isDatabaseUnavailable: () => false,
      writeErrorPage: () => false,
      loginRoutes: { deviceStart: '/', page: '/' },
    })
    const server = createServer(app)
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    return {
      port: (server.address() as AddressInfo).port,
      [Symbol.asyncDispose]: () =>
        new Promise<void>((resolve) => {
          server.closeAllConnections()
          server.close(() => resolve())
        }),
    }
  }

  it.each([
    ['without a change', {}],
    ['under one server with a path', { servers: [{ url: 'https://svc.example.com/api' }] }],
    ['under a server that is a path', { servers: [{ url: '/v2' }] }],
  ])('checks credentials and bodies with a document %s', async (_, change) => {
    await using server = await serve(change)
    expect((await ask(server.port, { path: '/v1/teams/some-team' })).status).toBe(401)
    const post = {
      method: 'POST',
      path: '/v1/auth/device/poll',
      headers: ['content-type', 'application/json'],
      body: '{}',
    }
    expect((await ask(server.port, post)).status).toBe(400)
    expect((await ask(server.port, { path: '/healthz' })).body).toBe('ok')
  })

  it('cuts the connection when a handler fails after the first byte of its answer', async () => {
    const getHealth: Handlers<'getHealth'>['getHealth'] = async (_req, res) => {
      res.write('{')
      throw new Error('no more')
    }
    await using server = await serve({}, { getHealth })
    await expect(ask(server.port, { path: '/healthz' })).rejects.toThrow(/aborted|hang up/)
  })

  it('fails at start when the document is not an OpenAPI document', async () => {
    await expect(serve({ openapi: '2.0' })).rejects.toThrow()
  })

  it('fails at start when another version of the validator is installed', { timeout: 60_000 }, async () => {
    const started = runWithLibrary(
      ['package.json', '5.6.2', '6.0.0'],
      'makeValidator(contract, { nameAllMistakes: true })',
    )
    await expect(started).rejects.toThrow('express-openapi-validator 5.6.2, not 6.0.0')
  })

  it.each([
    ['openapi.validator.js', 'requestMiddleware'],
    ['openapi.schema.validator.js', 'OpenAPISchemaValidator'],
    ['req.parameter.mutator.js', 'modifyRequest'],
  ])('accepts no request when the validator has no %s: %s', { timeout: 60_000 }, async (file, name) => {
    const open = `makeValidator(contract, { nameAllMistakes: true }).open(routesOf(contract).find(({ id }) => id === 'pollDeviceLogin'))`
    const opened = runWithLibrary([file, name, 'renamed'], open)
    await expect(opened).rejects.toThrow(new RegExp(`express-openapi-validator has no "[\\w.]*${name}"`))
  })
})

/** Runs an expression in a process whose validator has another text in one of its files. */
function runWithLibrary([file, text, replaced]: readonly [string, string, string], expression: string) {
  const program = `
    import { registerHooks } from 'node:module'
    registerHooks({
      load(url, context, next) {
        const loaded = next(url, context)
        if (!url.includes('express-openapi-validator') || !url.endsWith('/${file}')) return loaded
        return { ...loaded, source: String(loaded.source).replaceAll('${text}', '${replaced}') }
      },
    })
    const { makeValidator } = await import('./src/http/validation/validator.ts')
    const { readContract, routesOf } = await import('./src/http/contract.ts')
    const contract = readContract()
    await ${expression}
  `
  const cwd = path.join(import.meta.dirname, '../..')
  return promisify(execFile)(process.execPath, ['--input-type=module', '--eval', program], { cwd })
}
