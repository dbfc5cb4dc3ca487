import fc from 'fast-check'
import type { Arbitrary } from 'fast-check'
import { afterAll, beforeAll, describe, it } from 'vitest'
import type { Document, DocumentedOperation, Schema } from '../../src/docs/document.ts'
import { contractOf, readContract, routesOf } from '../../src/http/contract.ts'
import { brokenBodies, valuesOf } from '../support/arbitraries.ts'
import { startEngine } from '../support/engine.ts'
import type { TestEngine } from '../support/engine.ts'
import { people } from '../support/people.ts'
import { startService } from '../support/service.ts'
import type { TestService } from '../support/service.ts'

/** The number of requests for each operation, valid and invalid ones. */
const RUNS = Number(process.env.SVC_FUZZ_RUNS ?? 20)

// The whole document. The service's own type declares only the parts that it reads.
const document = readContract() as unknown as Document
const operations = Object.entries(document.paths).flatMap(([path, item]) =>
  Object.entries(item).map(([method, operation]) => ({ path, method, operation })),
)
/** Bodies for the control plane are tested in fuzz-auth.test.ts. */
const controlPlane = new Set(routesOf(contractOf(readContract(), 'control-plane')).map(({ id }) => id as string))
const others = operations.filter(({ operation }) => !operation.requestBody || !controlPlane.has(operation.operationId))
/** These operations end the session of their caller, so each gets a session of its own. */
const ENDS_SESSIONS = ['logout', 'revokeDevice']
const team = people(4)
const ADMIN = 'admin@example.com'
let member: string
let admin: string
let service: TestService
let engine: TestEngine

beforeAll(async () => {
  engine = await startEngine()
  service = await startService({
    directory: team.directory.replace('members: [', `members: [{ email: ${ADMIN}, role: admin }, `),
    // Without limits, because a 429 would hide the answers that are tested here.
    env: {
      SVC_LOCAL_ENGINE_URL: engine.url.href,
      SVC_LIMIT_REQUESTS_PER_MINUTE: '0',
      SVC_LIMIT_ACCOUNT_REQUESTS_PER_MINUTE: '0',
      SVC_LIMIT_STARTS_PER_IP: '0',
      SVC_LIMIT_MAILS_PER_ADDRESS: '0',
      SVC_LIMIT_USER_CODES: '0',
    },
  })
  member = await signIn()
  admin = await signIn(ADMIN)
})
afterAll(async () => {
  await service[Symbol.asyncDispose]()
  await engine[Symbol.asyncDispose]()
})

async function signIn(email = team.next()): Promise<string> {
  return (await service.signIn(email)).accessToken
}

/** A request, in the form in which a failure prints it. */
type Sent = {
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly type?: string
  readonly body?: unknown
  /** The text to send instead of `body`. */
  readonly text?: string
}

describe.each(others)('$operation.operationId', ({ path, method, operation }) => {
  it('answers valid and invalid requests as the contract says', async () => {
    const valid = ENDS_SESSIONS.includes(operation.operationId) ? [await signIn()] : [member, admin]
    const credentials = [...valid.map((token) => `Bearer ${token}`), 'Bearer x', 'Basic YTpi', undefined]
    await fc.assert(
      fc.asyncProperty(requests(path, operation), fc.constantFrom(...credentials), (sent, authorization) =>
        send(method, sent, authorization),
      ),
      { numRuns: RUNS },
    )
  })
})

/** Sends a request. `service.fetch` throws when the status, type or body of the answer is not in the contract. */
async function send(method: string, sent: Sent, authorization: string | undefined): Promise<void> {
  const { path, headers, type, body, text } = sent
  const response = await service.fetch(path, {
    method: method.toUpperCase(),
    redirect: 'manual',
    headers: { ...headers, ...(type && { 'content-type': type }), ...(authorization && { authorization }) },
    ...(type && { body: text ?? encode(type, body) }),
  })
  // An answer that is not read would keep its connection open and delay the stop of the service.
  await response.arrayBuffer()
}

function requests(template: string, operation: DocumentedOperation): Arbitrary<Sent> {
  const { parameters = [], requestBody } = operation
  const path = fc
    .record(Object.fromEntries(named('path').map(({ name, schema }) => [name, oneOf(template, name, schema)])))
    .map((values) => template.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(String(values[name]))))
    .filter((filled) => !/\/(\.|%2e){1,2}(\/|$)/i.test(filled))
  const query = fc.record({ ...valuesIn('query'), undeclared: fc.constant('1') }, { requiredKeys: [] })
  const headers = fc.record(valuesIn('header'), { requiredKeys: [] })
  const target = fc.tuple(path, query, headers).map(([filled, values, given]) => ({
    path: `${filled}${querystring(values)}`,
    headers: textual(given),
  }))
  if (!requestBody) return target
  const bodies = Object.entries(requestBody.content).map(([type, { schema = {}, example }]) => {
    const valid = fc.oneof(...(example === undefined ? [] : [fc.constant(example)]), valuesOf(document, schema))
    return fc.oneof(
      fc.record({ type: fc.constant(type), body: valid }),
      fc.record({ type: fc.constant(type), body: brokenBodies(document, schema, valid) }),
      fc.record({ type: fc.constantFrom(type, 'text/plain', 'application/json; charset=x'), text: fc.string() }),
    )
  })
  const body = fc.oneof(...bodies, fc.constant({}))
  return fc.tuple(target, body).map(([to, what]) => ({ ...to, ...what }))

  function named(place: string) {
    return parameters.filter((parameter) => parameter.in === place && parameter.name.toLowerCase() !== 'content-type')
  }

  function valuesIn(place: string): Record<string, Arbitrary<unknown>> {
    return Object.fromEntries(
      named(place).map(({ name, schema = {} }) => [
        name,
        place === 'header' ? headerValues(schema) : valuesOf(document, schema),
      ]),
    )
  }
}

/** A path parameter: a value that exists, or an arbitrary one. */
function oneOf(template: string, name: string, schema: Schema = {}): Arbitrary<unknown> {
  const known = template.includes('teams') ? '@acme/core' : name === 'id' ? 'local-engine' : 'x'
  return fc.oneof(fc.constant(known), valuesOf(document, schema))
}

/** Header values that `fetch` accepts. */
function headerValues(schema: Schema): Arbitrary<unknown> {
  return schema.type === 'string' ? fc.stringMatching(/^[!-~]{1,20}$/) : valuesOf(document, schema)
}

function textual(values: Record<string, unknown>): Record<string, string> {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, textOf(value)]))
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}

function querystring(values: Record<string, unknown>): string {
  const text = new URLSearchParams(textual(values)).toString()
  return text && `?${text}`
}

function encode(type: string, body: unknown): string {
  if (type.startsWith('application/json')) return JSON.stringify(body)
  return new URLSearchParams(textual((body ?? {}) as Record<string, unknown>)).toString()
}
