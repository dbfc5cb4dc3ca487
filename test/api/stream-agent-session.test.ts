import { once } from 'node:events'
import { connect } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { NO_USAGE } from '../../src/gateway/dialects/tokens/usage.ts'
import { accountIdOf, eventOf, readFollowed, saveEvents } from '../support/agent-sessions.ts'
import { directoryOf, people, signInBrowser } from '../support/people.ts'
import { bearerOf, messageOf, outcomeOf } from '../support/requests.ts'
import { startService } from '../support/service.ts'
import type { TestService } from '../support/service.ts'
import { waitForValue, withDeadline } from '../support/wait.ts'

const persons = people(14)
const ada = persons.next()
const team = '@acme/core'
const OTHER = '@acme/other'
let service: TestService
let accessToken: string
let accountId: string

beforeAll(async () => {
  service = await startService({ directory: persons.directory })
  accessToken = (await service.signIn(ada)).accessToken
  accountId = await accountIdOf(service, ada)
})
afterAll(() => service[Symbol.asyncDispose]())

/** The largest number of tokens that is taken from an answer, and that the contract has. */
const LARGEST_COUNT = 0x7fff_ffff

let runs = 0
const newRun = () => ({ team, accountId, sessionId: `run/${++runs}?#` })

type Options = { readonly query?: Record<string, string>; readonly headers?: Record<string, string> }

const follow = (sessionId: string, { query = {}, headers = {} }: Options = {}) => {
  const search = new URLSearchParams({ team, ...query })
  return service.fetch(`/v1/sessions/${encodeURIComponent(sessionId)}/stream?${search}`, {
    headers: { authorization: `Bearer ${accessToken}`, ...headers },
  })
}

describe('streamAgentSession', () => {
  describe('200', () => {
    it('replays the stored events without the content of calls, and then follows new ones', async () => {
      const run = newRun()
      await saveEvents(service, eventOf('started', run), eventOf('finished', run))
      const response = await follow(run.sessionId)
      expect(response.headers.get('content-type')).toBe('application/x-ndjson; charset=utf-8')
      await using followed = readFollowed(response)
      const started = {
        ...{ id: expect.stringMatching(/^\d+$/) as string, at: '2026-11-21T09:00:30.000Z', requestId: 'req_1' },
        ...{ model: 'svc/fast', dialect: 'chat', servedBy: 'local-engine' },
      }
      const ended = { status: 200, outcome: 'whole', firstByteMs: 12, durationMs: 250 }
      expect(await followed.next()).toEqual({ ...started, type: 'call.started' })
      const tokens = { input: 100, cached: 40, output: 20 }
      const costNanoUsd = 1_200_000
      expect(await followed.next()).toEqual({ ...started, ...ended, type: 'call.finished', tokens, costNanoUsd })
      expect(await followed.next()).toMatchObject({ type: 'heartbeat' })

      await saveEvents(service, eventOf('failed', run, { requestId: 'req_2' }))
      const failed = await followed.next()
      expect(failed).toMatchObject({ type: 'call.failed', requestId: 'req_2' })
      expect(failed).not.toHaveProperty('status')
    })

    it.each([
      ['"after"', (id: string) => ({ query: { after: id } })],
      ['"Last-Event-ID"', (id: string) => ({ headers: { 'last-event-id': id } })],
      ['the greater one of both', (id: string) => ({ query: { after: '0' }, headers: { 'last-event-id': id } })],
    ])('continues behind the event that %s names', async (_, position) => {
      const run = newRun()
      await saveEvents(service, eventOf('started', run), eventOf('finished', run))
      await using first = readFollowed(await follow(run.sessionId))
      const [one = '', two = ''] = await first.untilCurrent()
      await using second = readFollowed(await follow(run.sessionId, position(one)))
      expect(await second.untilCurrent()).toEqual([two])
      await using third = readFollowed(await follow(run.sessionId, position(two)))
      expect(await third.next()).toMatchObject({ type: 'heartbeat', id: two })
    })

    it('sends more events than one statement reads, in their order', async () => {
      const run = newRun()
      await saveEvents(service, ...Array.from({ length: 250 }, () => eventOf('started', run)))
      await using followed = readFollowed(await follow(run.sessionId))
      const ids = (await followed.untilCurrent()).map(Number)
      expect(ids).toHaveLength(250)
      expect(ids).toEqual(ids.toSorted((one, other) => one - other))
    })

    it('shows a call whose backend reported absurdly many tokens', async () => {
      const run = newRun()
      const event = eventOf('finished', run)
      const usage = { ...NO_USAGE, inputTokens: LARGEST_COUNT, cacheReadTokens: LARGEST_COUNT }
      if (event.result === null) throw new Error('A call that has finished has a result.')
      await saveEvents(service, { ...event, result: { ...event.result, usage } })
      await using followed = readFollowed(await follow(run.sessionId))
      expect(await followed.next()).toMatchObject({ tokens: { input: LARGEST_COUNT, cached: LARGEST_COUNT } })
    })

    it('leaves out the tokens of a call whose backend reported none', async () => {
      const run = newRun()
      const event = eventOf('failed', run)
      if (event.result === null) throw new Error('A call that has failed has a result.')
      await saveEvents(service, { ...event, result: { ...event.result, usage: NO_USAGE } })
      await using followed = readFollowed(await follow(run.sessionId))
      expect(await followed.next()).toHaveProperty('tokens', {})
    })

    it('waits for the first event of a session, and sends nothing of others with the same id', async () => {
      const run = newRun()
      await using followed = readFollowed(await follow(run.sessionId))
      expect(await followed.next()).toMatchObject({ type: 'heartbeat', id: '0' })
      const other = await accountIdOf(service, persons.next())
      await saveEvents(service, eventOf('started', { ...run, accountId: other }))
      await saveEvents(service, eventOf('started', { ...run, team: '@acme/other' }))
      await saveEvents(service, eventOf('started', run, { requestId: 'req_own' }))
      expect(await followed.next()).toMatchObject({ requestId: 'req_own' })
    })

    it('shows the session of another member and of a service account to members', async () => {
      const email = persons.next()
      const theirs = { ...newRun(), accountId: await accountIdOf(service, email) }
      await saveEvents(service, eventOf('started', theirs, { requestId: 'req_theirs' }))
      await using person = readFollowed(await follow(theirs.sessionId, { query: { account: email } }))
      expect(await person.next()).toMatchObject({ requestId: 'req_theirs' })

      const build = { ...newRun(), accountId: '01939c1e-0000-7000-8000-000000000000' }
      await saveEvents(service, eventOf('started', build, { service: 'service:ci', requestId: 'req_build' }))
      await using machine = readFollowed(await follow(build.sessionId, { query: { account: 'service:ci' } }))
      expect(await machine.next()).toMatchObject({ requestId: 'req_build' })
    })

    it('sends server-sent events where they are asked for', async () => {
      const run = newRun()
      await saveEvents(service, eventOf('started', run))
      const response = await follow(run.sessionId, { headers: { accept: 'text/event-stream' } })
      expect(response.headers.get('content-type')).toBe('text/event-stream; charset=utf-8')
      const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader()
      let text = ''
      while (!text.includes(': heartbeat')) text += (await reader?.read())?.value ?? ''
      await reader?.cancel()
      expect(text).toMatch(/^retry: 1000\n\nid: (\d+)\nevent: call.started\ndata: \{"id":"\1",.*\}\n\n: heartbeat\n\n$/)
    })

    it('accepts a browser session', async () => {
      const cookie = await signInBrowser(service, persons.next())
      const response = await service.fetch('/v1/sessions/run/stream?team=%40acme%2Fcore', { headers: { cookie } })
      await using followed = readFollowed(response)
      expect(await followed.next()).toMatchObject({ type: 'heartbeat' })
    })

    it('takes a team and an account that are not percent-encoded', async () => {
      const headers = bearerOf(accessToken)
      const response = await service.fetch(`/v1/sessions/run/stream?team=@acme/core&account=${ada}`, { headers })
      await using followed = readFollowed(response)
      expect(await followed.next()).toMatchObject({ type: 'heartbeat' })
    })

    it('answers HEAD with the headers alone', async () => {
      const response = await service.fetch('/v1/sessions/run/stream?team=%40acme%2Fcore', {
        method: 'HEAD',
        headers: bearerOf(accessToken),
      })
      expect([response.status, await response.text()]).toEqual([200, ''])
    })

    it('ends when its browser is signed out', async () => {
      const cookie = await signInBrowser(service, persons.next())
      const response = await service.fetch('/v1/sessions/run/stream?team=%40acme%2Fcore', { headers: { cookie } })
      await using followed = readFollowed(response)
      await followed.untilCurrent()
      await service.fetch('/v1/auth/logout', { method: 'POST', headers: { cookie } })
      expect(await withDeadline('the end of the stream', followed.next())).toBeNull()
    })

    it.each<[string, leaver: string | null, signedInTo: string]>([
      ['its device is signed out', null, team],
      ['its invitation is withdrawn', 'leaves@example.com', team],
      ['its account leaves the team, while its device is signed in to another one', 'both@example.com', OTHER],
    ])('ends when %s', async (_, leaver, signedInTo) => {
      if (leaver) await service.applyDirectory(directoryWith([leaver, ...everybody]))
      const signedIn = await service.signIn(leaver ?? persons.next(), { team: signedInTo })
      const headers = bearerOf(signedIn.accessToken)
      const response = await service.fetch('/v1/sessions/run/stream?team=%40acme%2Fcore', { headers })
      await using followed = readFollowed(response)
      await followed.untilCurrent()
      if (leaver) await service.applyDirectory(directoryWith(everybody))
      else await service.fetch('/v1/auth/logout', { method: 'POST', headers })
      expect(await withDeadline('the end of the stream', followed.next())).toBeNull()
    })
  })

  describe('400', () => {
    it.each([
      ['a position that is no number', 'run', { query: { after: 'x' } }, 'after'],
      ['a position beyond all ids', 'run', { query: { after: '9'.repeat(19) } }, 'after'],
      ['no team', 'run', { query: { team: '' } }, 'team'],
      ['an account that is no address', 'run', { query: { account: 'ada' } }, '"account"'],
      ['an id that no call can have', 'a b', {}, 'sessionId'],
      ['an id with NUL', 'a\0', {}, 'sessionId'],
      ['an id that is too long', 'x'.repeat(257), {}, 'sessionId'],
    ])('refuses %s', async (_, sessionId, options, named) => {
      const response = await follow(sessionId, options)
      expect(await outcomeOf(response)).toBe('400 invalid_request')
      expect(await messageOf(response)).toContain(named)
    })
  })

  describe('401', () => {
    it('refuses a request without a credential', async () => {
      expect(await outcomeOf(await follow('run', { headers: { authorization: '' } }))).toBe('401 unauthorized')
    })
  })

  describe('404', () => {
    it.each([
      ['a team that the caller is not a member of', { team: '@acme/other' }],
      ['a team that does not exist', { team: '@acme/nothing' }],
      ['a team that is no name', { team: 'core' }],
      ['an account that was never in the team', { account: 'stranger@example.com' }],
      ['a service account without this session', { account: 'service:none' }],
    ])('refuses %s', async (_, query) => {
      expect(await outcomeOf(await follow('run', { query }))).toBe('404 not_found')
    })

    it('refuses an account of a team with the same name in another organization', async () => {
      const account = 'elsewhere@example.com'
      const theirs = `organizations:\n  - { name: else, teams: [{ name: core, models: [], members: [{ email: ${account} }] }] }`
      await service.applyDirectory(directoryWith(everybody).replace('organizations:', theirs))
      expect(await outcomeOf(await follow('run', { query: { account } }))).toBe('404 not_found')
    })

    it('refuses a session of another service account of the team', async () => {
      const [asked, other] = [newRun(), newRun()]
      await saveEvents(service, eventOf('finished', asked, { service: 'service:builds' }))
      await saveEvents(service, eventOf('finished', other, { service: 'service:other' }))
      const query = { account: 'service:other' }
      expect(await outcomeOf(await follow(asked.sessionId, { query }))).toBe('404 not_found')
    })

    it('refuses a session of a service account of another team', async () => {
      const theirs = { ...newRun(), team: OTHER }
      await saveEvents(service, eventOf('finished', theirs, { service: 'service:builds' }))
      const query = { account: 'service:builds' }
      expect(await outcomeOf(await follow(theirs.sessionId, { query }))).toBe('404 not_found')
    })
  })

  describe('429', () => {
    it('refuses the 33rd stream of an account, until another one has ended', async () => {
      const { accessToken: token } = await service.signIn(persons.next())
      const options = { headers: bearerOf(token) }
      const opened = await Promise.all(Array.from({ length: 32 }, () => follow('run', options)))
      const refused = await follow('run', options)
      expect(await outcomeOf(refused)).toBe('429 rate_limited')
      expect(Number(refused.headers.get('retry-after'))).toBeGreaterThanOrEqual(1)
      await opened.pop()?.body?.cancel()
      await waitForValue(
        'a free stream',
        async () => {
          const response = await follow('run', options)
          await response.body?.cancel()
          return response.status
        },
        200,
      )
      for (const response of opened) await response.body?.cancel()
    })

    it('does not count callers that left before their stream began', async () => {
      const { accessToken: token } = await service.signIn(persons.next())
      // An embedded database answers no other statement during a transaction, so all of them leave before their access is
      // known.
      await service.database.prisma.$transaction(async (tx) => {
        await tx.$queryRaw`SELECT 1`
        await Promise.all(Array.from({ length: 33 }, () => askAndLeave(token)))
      })
      await using followed = readFollowed(await follow('run', { headers: bearerOf(token) }))
      expect(await followed.next()).toMatchObject({ type: 'heartbeat' })
    })
  })
})

/** Asks for a stream and ends the connection at once, while the service still checks the caller's access. */
async function askAndLeave(token: string): Promise<void> {
  const head = [
    'GET /v1/sessions/run/stream?team=%40acme%2Fcore HTTP/1.1',
    'Host: localhost',
    `Authorization: Bearer ${token}`,
  ]
  const socket = connect(service.port, '127.0.0.1').resume()
  socket.end(`${head.join('\r\n')}\r\n\r\n`)
  // The service has closed its side too.
  await once(socket, 'close')
}

/** A directory in which another person is in the other team, too. */
const directoryWith = (emails: readonly string[]) =>
  directoryOf(emails).replace(
    'members: [{ email: stranger@',
    'members: [{ email: both@example.com }, { email: stranger@',
  )

const everybody = [ada, ...Array.from({ length: 13 }, (_, index) => `person-${index + 2}@example.com`)]
