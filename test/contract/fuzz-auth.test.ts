import { randomInt } from 'node:crypto'
import { Readable } from 'node:stream'
import fc from 'fast-check'
import { Pool } from 'undici'
import { afterAll, beforeAll, describe, it } from 'vitest'
import type { TokenSet } from '../../generated/sdk/index.js'
import type { Document, DocumentedOperation } from '../../src/docs/document.ts'
import { contractOf, readContract } from '../../src/http/contract.ts'
import { newKeyMaterial } from '../../src/kernel/secret.ts'
import { checkAnswer } from '../support/contract/contract-check.ts'
import { bytesOf, ceremonies, hostileBodies } from '../support/hostile/hostile-bodies.ts'
import type { HostileBody, Live } from '../support/hostile/hostile-bodies.ts'
import { changed } from '../support/hostile/hostile-ceremonies.ts'
import type { Ceremony } from '../support/hostile/hostile-ceremonies.ts'
import {
  finishRegistration,
  newAuthenticator,
  signInWithPasskey,
  startRegistration,
  startSignIn,
} from '../support/passkeys.ts'
import { cookiesOf, directoryOf, mailTokenOf } from '../support/people.ts'
import { bearerOf } from '../support/requests.ts'
import { startService } from '../support/service.ts'
import type { TestService } from '../support/service.ts'

/**
 * The number of bodies for each operation. The same number and the seed that a failure prints give the same bodies
 * again.
 */
const RUNS = Number(process.env.SVC_FUZZ_RUNS ?? 20)
const SEED = Number(process.env.SVC_FUZZ_SEED ?? randomInt(2 ** 31 - 100))
/** The number of requests at the same time. Each lane has a seed of its own. */
const LANES = 4

// The whole document. The service's own type declares only the parts that it reads.
const document = contractOf(readContract(), 'control-plane') as unknown as Document
const operations = Object.entries(document.paths).flatMap(([path, item]) =>
  Object.entries(item)
    .filter(([, { requestBody }]) => requestBody)
    .map(([method, operation]) => ({ path, method, operation })),
)

const CALLERS = ['anonymous', 'bearer', 'cookie', 'unknown'] as const
type CallerKind = (typeof CALLERS)[number]
type Attempt = HostileBody & { readonly as: CallerKind; readonly headers: Readonly<Record<string, string>> }

let service: TestService
let pool: Pool
let live: Live
/** One person per lane, because some of the requests end the sessions of their caller. */
const people = Array.from({ length: LANES }, (_, lane) => ({
  email: `person-${lane}@example.com`,
  authenticator: newAuthenticator({ signCounterIncrement: 0 }),
  passkeyId: '',
  authorization: '',
  cookie: '',
}))
type Person = (typeof people)[number]
/** A valid body of each passkey operation that has been used once. */
const spent: Record<string, object> = {}

beforeAll(async () => {
  service = await startService({
    env: {
      SVC_LIMIT_ACCOUNT_REQUESTS_PER_MINUTE: '0',
      SVC_ADMIN_BACKEND_HOSTS: '*.example.com,*.vendor.example',
      SVC_SECRET_KEY: newKeyMaterial().reveal(),
    },
    directory: directoryOf(['bob@example.com']).replace(
      'members: [',
      `members: [${people.map(({ email }) => `{ email: ${email}, role: admin }`).join()}, `,
    ),
  })
  pool = new Pool(service.origin, { connections: LANES, pipelining: 1 })
  for (const person of people) await introduce(person)
  await makeExisting(people[0] as Person)
  live = await liveValues()
})
afterAll(async () => {
  await pool.close()
  await service[Symbol.asyncDispose]()
})

describe.each(operations)('$operation.operationId', ({ path, method, operation }) => {
  it(
    'answers hostile requests as the contract says, and never with 5xx',
    async () => {
      const sent = attempts(operation)
      const lanes = people.map((person, lane) =>
        fc.assert(
          fc.asyncProperty(sent, (attempt) => expectAnswer(method, path, operation, attempt, person)),
          { numRuns: Math.ceil(RUNS / LANES), seed: SEED + lane },
        ),
      )
      const failed = (await Promise.allSettled(lanes)).find((outcome) => outcome.status === 'rejected')
      if (failed) throw failed.reason
    },
    30_000 + RUNS * 100,
  )
})

function attempts({ operationId, requestBody, security = [] }: DocumentedOperation): fc.Arbitrary<Attempt> {
  const bodies = hostileBodies(document, requestBody?.content ?? {}, live)
  const hasCredentials = security.some((scheme) => Object.keys(scheme).length > 0)
  const caller = fc.oneof(
    { weight: 4, arbitrary: fc.constantFrom('bearer' as const, 'cookie' as const) },
    { weight: 1, arbitrary: fc.constantFrom(...CALLERS) },
  )
  return fc
    .record({
      sent: operationId in spent ? fc.oneof(bodies, ceremonies()) : bodies,
      as: hasCredentials ? caller : fc.constant('anonymous' as const),
      headers: fc.record(
        {
          accept: fc.constantFrom('text/html', 'application/json', '*/*'),
          'x-svc-use-cookies': fc.constantFrom('1', 'true', 'x'),
        },
        { requiredKeys: [] },
      ),
    })
    .map(({ sent, ...rest }) => ({ ...sent, ...rest }))
}

/** Sends a request. Rejects when its answer is not in the contract or is a 5xx. */
async function expectAnswer(
  method: string,
  template: string,
  operation: DocumentedOperation,
  attempt: Attempt,
  person: Person,
): Promise<void> {
  const path = fill(template, person)
  const { type, encoding, chunked, headers } = attempt
  const body = bytesOf(await textOf(operation.operationId, attempt.body, person), encoding)
  const answer = await pool.request({
    method: method.toUpperCase(),
    path,
    headers: {
      ...headers,
      ...credentialOf(attempt.as, person),
      ...(type !== null && { 'content-type': type }),
      ...(encoding !== undefined && { 'content-encoding': encoding }),
    },
    body: chunked ? Readable.from([body]) : body,
  })
  const { statusCode: status } = answer
  const text = await answer.body.text()
  const list = Object.entries(answer.headers).flatMap(([name, value = '']) =>
    [value].flat().map((one): [string, string] => [name, one]),
  )
  await checkAnswer(method, new URL(path, service.origin), new Response(text, { status, headers: list }))
  if (status >= 500) throw new Error(`${operation.operationId} answered ${status}: ${text}`)
  if (status === 401) await keepSignedIn(person, attempt.as)
  // An account that has the maximum of passkeys would only get 409 from here on.
  if (status === 200 && operation.operationId === 'finishPasskeyRegistration') await deletePasskey(text, person)
}

/** What exists in the team, by the part of a path that names it, and the part before. */
const existing: Record<string, string> = {
  'teams/{team}': '@acme/core',
  'teams/{organization}': 'acme',
  '{organization}/{name}': 'core',
  'models/{id}': 'acme/core/own',
  'backends/{name}': 'acme/core/own',
}

/** Fills a path with the names and ids of what exists, so that its operation does not only answer 404. */
function fill(template: string, { passkeyId }: Person): string {
  const parts = template.split('/')
  const values: Record<string, string> = { ...existing, 'passkeys/{passkeyId}': passkeyId }
  return parts
    .map((part, at) => {
      if (!part.startsWith('{')) return part
      const value = values[`${parts[at - 1]}/${part}`]
      if (value === undefined) throw new Error(`${template} has a place for which nothing was made.`)
      return encodeURIComponent(value)
    })
    .join('/')
}

/** Makes what the paths of operations name. */
async function makeExisting({ authorization }: Person): Promise<void> {
  const team = '/v1/teams/%40acme%2Fcore'
  const send = async (method: string, path: string, body: object): Promise<Record<string, unknown>> => {
    const sent = { method, headers: { authorization, 'content-type': 'application/json' }, body: JSON.stringify(body) }
    const made = await checked(`${method} ${path}`, await service.fetch(path, sent))
    return (await made.json()) as Record<string, unknown>
  }
  const idOf = ({ id }: Record<string, unknown>) => String(id)
  const keyOf = ({ info }: Record<string, unknown>) => idOf(info as Record<string, unknown>)
  const account = idOf(await send('POST', `${team}/service-accounts`, { name: 'nightly' }))
  const limit = { subject: 'team', period: 'day', amountNanoUsd: 1_000_000_000 }
  await send('POST', `${team}/invitations`, { email: 'new@example.com' })
  const listed = await service.fetch(`${team}/members`, { headers: { authorization } })
  const { members } = (await listed.json()) as { members: { id: string; email: string }[] }
  const backend = { dialects: ['chat'], url: 'https://api.example.com', credential: { value: 'secret' } }
  await send('PUT', `${team}/backends/acme%2Fcore%2Fown`, backend)
  const serve = [{ backend: 'acme/core/own', model: 'own' }]
  await send('PUT', `${team}/models/acme%2Fcore%2Fown`, { displayName: 'Own', serve })
  Object.assign(existing, {
    'service-accounts/{id}': account,
    'keys/{keyId}': keyOf(await send('POST', `${team}/service-accounts/${account}/keys`, { name: 'nightly' })),
    'keys/{id}': keyOf(await send('POST', '/v1/keys', { name: 'mine' })),
    'limits/{limitId}': idOf(await send('POST', `${team}/limits`, limit)),
    'members/{id}': members.find(({ email }) => email === 'new@example.com')?.id,
  })
}

async function deletePasskey(passkey: string, { authorization }: Person): Promise<void> {
  const { id } = JSON.parse(passkey) as { id: string }
  const deletion = { method: 'DELETE', headers: { authorization } }
  await checked('Deleting the passkey', await service.fetch(`/v1/auth/passkeys/${id}`, deletion))
}

function credentialOf(as: CallerKind, { authorization, cookie }: Person): Record<string, string> {
  if (as === 'bearer') return { authorization }
  if (as === 'cookie') return { cookie }
  return as === 'unknown' ? { authorization: 'Bearer eyJhbGciOiJub25lIn0.e30.', cookie: 'svc_session=svcs_x' } : {}
}

async function textOf(
  operationId: string,
  body: string | Uint8Array | Ceremony,
  person: Person,
): Promise<string | Uint8Array> {
  if (typeof body === 'string' || body instanceof Uint8Array) return body
  return changed(body.begun ? await begun(operationId, person) : (spent[operationId] ?? {}), body)
}

async function begun(operationId: string, { authenticator, authorization }: Person): Promise<object> {
  if (operationId === 'finishPasskeyLogin') return { credential: authenticator.get(await startSignIn(service)) }
  // A new authenticator each time, because an authenticator makes only one passkey for an account.
  return { credential: newAuthenticator().create(await startRegistration(service, { authorization })) }
}

/** Signs a person in for the first time, and adds a passkey. */
async function introduce(person: Person): Promise<void> {
  const { accessToken } = await service.signIn(person.email)
  const by = bearerOf(accessToken)
  const credential = person.authenticator.create(await startRegistration(service, by))
  const added = await checked('Adding the passkey', await finishRegistration(service, by, credential))
  person.passkeyId = ((await added.json()) as { id: string }).id
  spent['finishPasskeyRegistration'] = { credential }
  spent['finishPasskeyLogin'] = { credential: person.authenticator.get(await startSignIn(service)) }
  await signIn(person, 'bearer')
  await signIn(person, 'cookie')
}

/** Signs in again where a request has ended the session: too many sign-ins end the oldest one, for example. */
async function keepSignedIn(person: Person, as: CallerKind): Promise<void> {
  if (as !== 'bearer' && as !== 'cookie') return
  const { status } = await service.fetch('/v1/devices', { headers: credentialOf(as, person) })
  if (status !== 200) await signIn(person, as)
}

async function signIn(person: Person, as: CallerKind): Promise<void> {
  const headers: Record<string, string> = as === 'cookie' ? { 'x-svc-use-cookies': 'true' } : {}
  const answer = await signInWithPasskey(service, person.authenticator, {}, headers)
  const response = await checked('The sign-in', answer)
  if (as === 'cookie') person.cookie = cookiesOf(response)
  else person.authorization = `Bearer ${((await response.json()) as TokenSet).accessToken}`
}

/** Returns the answer of a step of the preparation. Throws its status and body when the step failed. */
async function checked(step: string, response: Response): Promise<Response> {
  if (!response.ok) throw new Error(`${step} failed: ${response.status} ${await response.text()}`)
  return response
}

/** Codes, tokens and ids that exist in the service, by the names of the fields that take them. */
async function liveValues(): Promise<Live> {
  const pending = []
  for (let index = 0; index < 6; index++) {
    const login = await service.startLogin('bob@example.com', { deviceId: `pending-${index}` })
    pending.push({ ...login, token: mailTokenOf(service, 'bob@example.com') })
  }
  const approved = await service.startLogin('bob@example.com', { deviceId: 'approved' })
  await service.approveByMail('bob@example.com')
  const tokens = [
    await service.signIn('bob@example.com', { deviceId: 'a' }),
    await service.signIn('bob@example.com', { deviceId: 'b' }),
  ]
  const deviceCodes = [...pending, approved].map(({ deviceCode }) => deviceCode)
  const userCodes = [...pending, approved].map(({ userCode }) => userCode)
  const refreshTokens = tokens.map(({ refreshToken }) => refreshToken)
  const emails = ['person-0@example.com', 'bob@example.com', 'nobody@example.com']
  return {
    deviceCode: deviceCodes,
    device_code: deviceCodes,
    userCode: userCodes,
    token: pending.map(({ token }) => token),
    refreshToken: refreshTokens,
    refresh_token: refreshTokens,
    email: emails,
    login_hint: emails,
    account: emails,
    team: ['@acme/core', '@acme/none'],
    passkeyId: people.map(({ passkeyId }) => passkeyId.replace(/.$/, '0')),
    grant_type: ['urn:ietf:params:oauth:grant-type:device_code', 'refresh_token'],
    scope: ['all', 'others'],
  }
}
