import { readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { readConfig } from '../../src/config.ts'
import type { Clock } from '../../src/kernel/clock.ts'
import { RefusedFileError } from '../../src/server/files/refused-file.ts'
import { serve } from '../../src/server/serve.ts'
import { freePort } from '../support/loopback.ts'
import { newFolder } from '../support/process.ts'
import { bearerOf, json, outcomeOf } from '../support/requests.ts'
import { BASE_URL, startService } from '../support/service.ts'
import type { TestService } from '../support/service.ts'
import { answersJson, completionOf, startUpstream } from '../support/upstream.ts'
import type { TestUpstream } from '../support/upstream.ts'
import { waitUntil } from '../support/wait.ts'

const directoryWith = (models: string) => `
organizations:
  - name: acme
    teams:
      - { name: core, defaultModel: vendora/large, models: [${models}], members: [{ email: ada@example.com }] }
models:
  - { id: vendora/large, displayName: Large, owner: vendora }
  - { id: vendora/small, displayName: Small, owner: vendora }
`

const answer = completionOf('vendora/large')

describe('a gateway without a database', () => {
  let folder: Awaited<ReturnType<typeof newFolder>>
  let upstream: TestUpstream
  let control: TestService
  let token: string
  let files: { directory: string; keys: string }

  beforeAll(async () => {
    folder = await newFolder()
    files = { directory: path.join(folder.path, 'directory.yaml'), keys: path.join(folder.path, 'deep/keys.json') }
    await writeFile(files.directory, directoryWith('vendora/large'))
    upstream = await startUpstream(answersJson(answer))
    unreachable.SVC_CONTROL_PLANE_URL = `http://127.0.0.1:${await freePort()}`
    control = await startService({ env: { SVC_ROLE: 'control-plane' }, directory: directoryWith('vendora/large') })
    token = (await control.signIn('ada@example.com')).accessToken
  })
  afterAll(async () => {
    await control[Symbol.asyncDispose]()
    await upstream[Symbol.asyncDispose]()
    await folder[Symbol.asyncDispose]()
  })

  /** Starts a gateway as an operator does, with these settings besides. */
  const startGateway = async (settings: Record<string, string> = {}, clock: Clock = control.clock) => {
    const lines: { event: string; fields: object }[] = []
    const note = (fields: object, event: string) => void lines.push({ event, fields })
    const log = { debug: note, info: note, warn: note, error: note, showLink: note, close: async () => true }
    const config = readConfig({
      SVC_ROLE: 'gateway',
      SVC_PORT: '0',
      SVC_BASE_URL: BASE_URL,
      SVC_CONTROL_PLANE_URL: control.origin,
      SVC_GATEWAY_KEYS_FILE: files.keys,
      SVC_DIRECTORY_FILE: files.directory,
      SVC_VENDORA_UPSTREAM_URL: upstream.url.href,
      ...settings,
    })
    const running = await serve(config, { clock, log })
    const ask = (pathname: string, init: RequestInit = {}) => {
      const headers = new Headers(init.headers)
      // When a gateway stops, it waits a second for requests on idle connections.
      headers.set('connection', 'close')
      return fetch(`http://127.0.0.1:${running.port}${pathname}`, { ...init, headers })
    }
    return {
      lines,
      running,
      ask,
      models: async (bearer = token) => ask('/v1/models', { headers: bearerOf(bearer) }),
      [Symbol.asyncDispose]: () => running.stop(),
    }
  }
  /** A control plane that does not answer. */
  const unreachable = { SVC_CONTROL_PLANE_URL: '' }
  const idsOf = async (response: Response) =>
    ((await response.json()) as { data: { id: string }[] }).data.map(({ id }) => id)

  it('is ready and reports its database as disabled', async () => {
    await using gateway = await startGateway()
    const ready = await gateway.ask('/readyz')
    expect([ready.status, await ready.json()]).toEqual([200, { status: 'ok', database: 'disabled' }])
  })

  it('serves a caller with a token of the control plane, and logs the call', async () => {
    await using gateway = await startGateway()
    const call = json({ messages: [{ role: 'user', content: 'a-secret' }] }, bearerOf(token))
    const response = await gateway.ask('/v1/chat/completions', call)
    expect([response.status, await response.json()]).toEqual([200, answer])
    const finished = () => gateway.lines.filter(({ event }) => event === 'call.finished')
    await waitUntil('the call in the log', finished, (seen) => seen.length === 1)
    expect(finished()).toMatchObject([
      {
        fields: { team: '@acme/core', model: 'vendora/large', servedBy: 'vendora', inputTokens: 12, outputTokens: 3 },
      },
    ])
    expect(JSON.stringify(gateway.lines)).not.toContain('a-secret')
  })

  it('refuses forged tokens, tokens of another issuer and expired tokens', async () => {
    await using gateway = await startGateway()
    await using other = await startGateway({ SVC_BASE_URL: 'https://other.example' })
    expect(await outcomeOf(await gateway.models())).toBe('200')
    expect(await outcomeOf(await gateway.models('forged'))).toBe('401 unauthorized')
    expect(await outcomeOf(await gateway.models(`${token.slice(0, -8)}AAAAAAAA`))).toBe('401 unauthorized')
    expect(await outcomeOf(await other.models())).toBe('401 unauthorized')

    const later = { now: () => new Date(control.clock.now().getTime() + 901_000) }
    await using late = await startGateway({}, later)
    expect(await outcomeOf(await late.models())).toBe('401 unauthorized')
  })

  it('reads teams and models from the directory file, and again on reload', async () => {
    await using gateway = await startGateway()
    expect(await idsOf(await gateway.models())).toEqual(['vendora/large'])

    await writeFile(files.directory, directoryWith('vendora/large, vendora/small'))
    await gateway.running.reload()
    expect(await idsOf(await gateway.models())).toEqual(['vendora/large', 'vendora/small'])

    await writeFile(files.directory, 'organizations: nonsense')
    await expect(gateway.running.reload()).rejects.toThrow(RefusedFileError)
    expect(await idsOf(await gateway.models())).toEqual(['vendora/large', 'vendora/small'])
    await expect(startGateway()).rejects.toThrow(RefusedFileError)
    await writeFile(files.directory, directoryWith('vendora/large'))
  })

  it('has the newest directory file when the next reload begins before the first one has ended', async () => {
    await using gateway = await startGateway()
    // A thread reads a file of this length, and starting it takes longer than reading a short one.
    await writeFile(files.directory, `${directoryWith('vendora/large')}# ${'long '.repeat(20_000)}`)
    const first = gateway.running.reload()
    await sleep(30)
    await writeFile(files.directory, directoryWith('vendora/large, vendora/small'))
    await Promise.all([first, gateway.running.reload()])
    expect(await idsOf(await gateway.models())).toEqual(['vendora/large', 'vendora/small'])
    await writeFile(files.directory, directoryWith('vendora/large'))
  })

  it('starts with the keys of its file while the control plane cannot be reached', async () => {
    await using first = await startGateway()
    expect((await first.models()).status).toBe(200)
    const kept = (await readFile(files.keys, 'utf8')).replace(control.origin, unreachable.SVC_CONTROL_PLANE_URL)
    const keys = path.join(folder.path, 'kept.json')
    await writeFile(keys, kept)

    await using second = await startGateway({ ...unreachable, SVC_GATEWAY_KEYS_FILE: keys })
    expect((await second.models()).status).toBe(200)
    expect(second.lines.map(({ event }) => event)).toContain('control_plane.unreachable')
  })

  it('answers 503 and not 401 while it has no keys, and blames no database', async () => {
    const keys = path.join(folder.path, 'none.json')
    await using gateway = await startGateway({ ...unreachable, SVC_GATEWAY_KEYS_FILE: keys })
    const unchecked = await gateway.models()
    expect(unchecked.status).toBe(503)
    expect(await unchecked.json()).toMatchObject({
      error: { code: 'service_unavailable', message: 'Your credential cannot be checked now. Try again shortly.' },
    })
    expect(await outcomeOf(await gateway.models('forged'))).toBe('401 unauthorized')
    expect((await gateway.ask('/readyz')).status).toBe(200)
  })

  it('ignores a key file of another control plane', async () => {
    await using gateway = await startGateway(unreachable)
    expect(await outcomeOf(await gateway.models())).toBe('503 service_unavailable')
  })

  it('goes on serving after the control plane has stopped, also after a restart', async () => {
    const last = await startService({ env: { SVC_ROLE: 'control-plane' }, directory: directoryWith('vendora/large') })
    const { accessToken } = await last.signIn('ada@example.com')
    const settings = {
      SVC_CONTROL_PLANE_URL: last.origin,
      SVC_GATEWAY_KEYS_FILE: path.join(folder.path, 'last.json'),
    }
    const before = await startGateway(settings)
    expect((await before.models(accessToken)).status).toBe(200)
    await last[Symbol.asyncDispose]()
    expect((await before.models(accessToken)).status).toBe(200)
    await before.running.stop()

    await using after = await startGateway(settings)
    expect((await after.models(accessToken)).status).toBe(200)
  })

  describe('with a time of grace for expired tokens', () => {
    const LOCAL =
      directoryWith('vendora/large, svc/fast') + "  - { id: svc/fast, displayName: F, owner: svc, backendModel: 'q' }\n"
    const clock = { now: () => new Date(control.clock.now().getTime() + 3_000_000) }
    const post = (gateway: { ask: (path: string, init: RequestInit) => Promise<Response> }, model: string) =>
      gateway.ask('/v1/chat/completions', json({ model, messages: [] }, bearerOf(token)))

    it('serves local models only while the control plane cannot be reached, and says so', async () => {
      await using engine = await startUpstream(answersJson(answer))
      await using first = await startGateway()
      expect((await first.models()).status).toBe(200)
      const kept = (await readFile(files.keys, 'utf8')).replace(control.origin, unreachable.SVC_CONTROL_PLANE_URL)
      const keys = path.join(folder.path, 'grace.json')
      const directory = path.join(folder.path, 'grace.yaml')
      await Promise.all([writeFile(keys, kept), writeFile(directory, LOCAL)])
      const settings = {
        SVC_GATEWAY_KEYS_FILE: keys,
        SVC_DIRECTORY_FILE: directory,
        SVC_LOCAL_ENGINE_URL: engine.url.href,
        SVC_OFFLINE_GRACE_HOURS: '1',
      }
      await using offline = await startGateway({ ...settings, ...unreachable }, clock)
      const local = await post(offline, 'svc/fast')
      expect([local.status, local.headers.get('x-svc-offline')]).toEqual([200, '1'])
      const seen = upstream.calls.length
      const remote = await post(offline, 'vendora/large')
      expect([await outcomeOf(remote), remote.headers.get('x-svc-offline')]).toEqual(['503 model_unavailable', '1'])
      expect(upstream.calls.length).toBe(seen)

      const later = { now: () => new Date(clock.now().getTime() + 3_600_000) }
      await using late = await startGateway({ ...settings, ...unreachable }, later)
      expect(await outcomeOf(await post(late, 'svc/fast'))).toBe('401 unauthorized')
    })

    it('refuses them while the control plane answers', async () => {
      await using gateway = await startGateway({ SVC_OFFLINE_GRACE_HOURS: '1' }, clock)
      expect(await outcomeOf(await gateway.models())).toBe('401 unauthorized')
    })
  })
})
