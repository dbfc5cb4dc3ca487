import path from 'node:path'
import { writeFile } from 'node:fs/promises'
import { createLocalJWKSet, jwtVerify } from 'jose'
import type { JSONWebKeySet } from 'jose'
import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { readConfig } from '../../src/config.ts'
import { serve } from '../../src/server/serve.ts'
import type { Running } from '../../src/server/running.ts'
import { freshDatabase } from '../support/database.ts'
import { people } from '../support/people.ts'
import { newFolder } from '../support/process.ts'
import { bearerOf, json, outcomeOf, tally } from '../support/requests.ts'
import { BASE_URL, startService } from '../support/service.ts'
import type { TestService } from '../support/service.ts'

/** A token that has not expired. */
type LiveToken = { readonly token: string; readonly kid: string; readonly endsAt: number }

const STEP_SECONDS = 240
const persons = people(8)
let services: readonly [TestService, TestService]
let gateway: Running
let folder: Awaited<ReturnType<typeof newFolder>>

/** Two services that share a database, and a gateway without a database that knows only the published keys. */
beforeAll(async () => {
  // Periodic work and cache lifetimes of the service use these; `pass` moves them together with the clocks.
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'performance'] })
  const database = await freshDatabase()
  const { directory } = persons
  services = [await startService({ database, directory }), await startService({ database, directory })]
  folder = await newFolder()
  const directoryFile = path.join(folder.path, 'directory.yaml')
  await writeFile(directoryFile, directory)
  const config = readConfig({
    SVC_ROLE: 'gateway',
    SVC_PORT: '0',
    SVC_BASE_URL: BASE_URL,
    SVC_CONTROL_PLANE_URL: services[1].origin,
    SVC_GATEWAY_KEYS_FILE: path.join(folder.path, 'keys.json'),
    SVC_DIRECTORY_FILE: directoryFile,
  })
  const quiet = () => undefined
  const log = { debug: quiet, info: quiet, warn: quiet, error: quiet, showLink: quiet, close: async () => true }
  gateway = await serve(config, { clock: services[0].clock, log })
})
afterAll(async () => {
  // A stop measures how long it waits for idle connections.
  vi.useRealTimers()
  await gateway.stop()
  for (const service of services) await service[Symbol.asyncDispose]()
  await folder[Symbol.asyncDispose]()
})

/** Moves the time of all services. Periodic work is started, not awaited. */
function pass(seconds: number): void {
  for (const { clock } of services) clock.advance({ seconds })
  vi.advanceTimersByTime(seconds * 1000)
}

it('refuses no token while the signing key rotates, at two processes, a gateway without a database and with cached keys', async () => {
  const [one, two] = services
  // In ten minutes the key is due for rotation.
  for (const { clock } of services) clock.advance({ days: 30, seconds: -600 })
  const clients = await Promise.all(
    services.map(async (service) => {
      const email = persons.next()
      const { refreshToken } = await service.signIn(email)
      return { service, email, refreshToken }
    }),
  )
  const keySets = makeKeySetCache(two)
  const outcomes: string[] = []
  const published = new Set<string>()
  const signedBy = new Set<string>()
  let live: LiveToken[] = []

  for (let round = 0; round < 3600 / STEP_SECONDS; round += 1) {
    pass(STEP_SECONDS)
    // The rotation may be under way during these requests.
    const fresh = await Promise.all(
      clients.map(async (client, index) => {
        const by = services[(index + round) % 2] ?? one
        const refreshed = await by.fetch(
          '/v1/auth/token/refresh',
          json({ account: client.email, refreshToken: client.refreshToken }),
        )
        outcomes.push(`refresh ${await outcomeOf(refreshed)}`)
        const tokens = (await refreshed.json()) as { accessToken: string; refreshToken: string }
        client.refreshToken = tokens.refreshToken
        return tokens.accessToken
      }),
    )
    const polled = round % 4 === 0 ? [(await one.signIn(persons.next())).accessToken] : []
    live.push(...[...fresh, ...polled].map((token) => ({ token, ...claimsOf(token) })))
    // The services started at different moments, so their clocks differ.
    live = live.filter(({ endsAt }) => services.every(({ clock }) => endsAt > clock.now().getTime()))
    const keySet = await keySets.keys()
    for (const { kid } of live) signedBy.add(kid)
    for (const { kid } of keySet.keys) published.add(kid ?? '')
    outcomes.push(...(await Promise.all(live.flatMap(({ token }) => check(round, token, keySet)))))
  }

  expect(tally(outcomes.filter((outcome) => !outcome.endsWith(' 200')))).toEqual({})
  expect(outcomes.length).toBeGreaterThan(300)
  // The whole rotation happened: the new key was published, it signed, and the old one was retired.
  expect([...published]).toEqual(['access-1', 'access-2'])
  expect([...signedBy]).toEqual(['access-1', 'access-2'])
  expect((await keySets.load()).keys.map(({ kid }) => kid)).toEqual(['access-2'])
})

/** Presents a token to each service that accepts it, and verifies it with cached published keys. */
function check(round: number, token: string, keySet: JSONWebKeySet): Promise<string>[] {
  const headers = bearerOf(token)
  const at = async (place: string, response: Promise<Response>) => `${place} ${await outcomeOf(await response)}`
  return [
    at('models', fetch(`${services[round % 2]?.origin}/v1/models`, { headers })),
    at('device', fetch(`${services[(round + 1) % 2]?.origin}/device`, { headers })),
    at('models without a database', fetch(`http://127.0.0.1:${gateway.port}/v1/models`, { headers })),
    jwtVerify(token, createLocalJWKSet(keySet), { currentDate: services[0].clock.now() }).then(
      () => 'kept keys 200',
      (error: unknown) => `kept keys ${String(error)}`,
    ),
  ]
}

/**
 * A client that caches the published keys for as long as the answer allows (RFC 9111, section 4.2), and uses the oldest
 * fresh answer.
 */
function makeKeySetCache(service: TestService) {
  let kept: { keys: JSONWebKeySet; until: number }[] = []
  async function load(): Promise<JSONWebKeySet> {
    const response = await service.fetch('/.well-known/jwks.json')
    const maxAge = Number(/max-age=(\d+)/.exec(response.headers.get('cache-control') ?? '')?.[1])
    expect(maxAge).toBeGreaterThan(STEP_SECONDS)
    const keys = (await response.json()) as JSONWebKeySet
    kept.push({ keys, until: service.clock.now().getTime() + maxAge * 1000 })
    return keys
  }
  return {
    load,
    async keys() {
      const newest = await load()
      kept = kept.filter(({ until }) => service.clock.now().getTime() < until)
      return kept[0]?.keys ?? newest
    },
  }
}

function claimsOf(token: string): { kid: string; endsAt: number } {
  const [head = '', claims = ''] = token.split('.').map((part) => Buffer.from(part, 'base64url').toString('utf8'))
  const { kid } = JSON.parse(head) as { kid: string }
  const { exp } = JSON.parse(claims) as { exp: number }
  return { kid, endsAt: exp * 1000 }
}
