import { createServer } from 'node:http'
import { chmod, readFile, stat, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { exportJWK, generateKeyPair } from 'jose'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { ControlPlaneUnreachable, openPublishedKeys } from '../../src/access/published-keys.ts'
import type { PublishedKeys } from '../../src/access/published-keys.ts'
import { closeHttpServer, listenOnLoopback } from '../support/loopback.ts'
import { newFolder } from '../support/process.ts'

async function newKey(kid: string): Promise<object> {
  const { publicKey } = await generateKeyPair('EdDSA', { extractable: true })
  return { ...(await exportJWK(publicKey)), kid, alg: 'EdDSA', use: 'sig' }
}

/** A control plane that publishes given keys and counts its requests. */
async function startControlPlane(keys: readonly object[]) {
  const state = { body: JSON.stringify({ keys }), status: 200, headers: {}, requests: 0 }
  const server = createServer((_req, res) => {
    state.requests += 1
    const headers = { 'content-type': 'application/json', 'cache-control': 'public, max-age=300', ...state.headers }
    res.writeHead(state.status, headers)
    res.end(state.body)
  })
  return Object.assign(state, {
    url: `http://127.0.0.1:${await listenOnLoopback(server)}`,
    [Symbol.asyncDispose]: () => closeHttpServer(server),
  })
}

describe('published keys', () => {
  let folder: Awaited<ReturnType<typeof newFolder>>
  let file: string
  const lines: string[] = []
  const note = (_fields: object, event: string) => void lines.push(event)
  const log = { debug: note, info: note, warn: note, error: note }

  beforeEach(async () => {
    vi.useFakeTimers({ toFake: ['performance'] })
    folder = await newFolder()
    file = path.join(folder.path, 'keys.json')
    lines.length = 0
  })
  afterEach(async () => {
    vi.useRealTimers()
    // Otherwise their first request, which comes a moment after the start, could fail in the next test.
    await Promise.all(opened.splice(0).map((keys) => keys.close()))
    await folder[Symbol.asyncDispose]()
  })
  const opened: PublishedKeys[] = []

  async function open(controlPlaneUrl: string): Promise<PublishedKeys> {
    const keys = await openPublishedKeys({ controlPlaneUrl, file, log })
    opened.push(keys)
    return keys
  }

  it('are fetched once for many calls that wait for them', async () => {
    await using control = await startControlPlane([await newKey('a')])
    const keys = await open(control.url)
    const found = await Promise.all(Array.from({ length: 20 }, async () => keys.findPublicKey('a')))
    expect(found.every(Boolean)).toBe(true)
    expect(control.requests).toBe(1)
  })

  it('are fetched at most once in five seconds for unknown key ids', async () => {
    await using control = await startControlPlane([await newKey('a')])
    const keys = await open(control.url)
    for (let n = 0; n < 20; n++) expect(await keys.findPublicKey(`unknown-${n}`)).toBeUndefined()
    expect(control.requests).toBe(1)
    vi.advanceTimersByTime(5001)
    for (let n = 0; n < 20; n++) expect(await keys.findPublicKey(`unknown-${n}`)).toBeUndefined()
    expect(control.requests).toBe(2)
  })

  it('include new keys and no retired ones after a fetch', async () => {
    await using control = await startControlPlane([await newKey('a')])
    const keys = await open(control.url)
    expect(await keys.findPublicKey('a')).toBeDefined()
    control.body = JSON.stringify({ keys: [await newKey('b')] })
    vi.advanceTimersByTime(5001)
    expect(await keys.findPublicKey('b')).toBeDefined()
    expect(await keys.findPublicKey('a')).toBeUndefined()
  })

  it('are fetched in the background when they are stale', async () => {
    await using control = await startControlPlane([await newKey('a')])
    const keys = await open(control.url)
    await keys.findPublicKey('a')
    vi.advanceTimersByTime(299_000)
    await keys.findPublicKey('a')
    expect(control.requests).toBe(1)
    vi.advanceTimersByTime(2000)
    expect(keys.findPublicKey('a')).not.toBeInstanceOf(Promise)
    await keys.close()
    expect(control.requests).toBe(2)
  })

  it('stay valid while the control plane cannot be reached, and unknown key ids are rejected', async () => {
    const control = await startControlPlane([await newKey('a')])
    const keys = await open(control.url)
    await keys.findPublicKey('a')
    await control[Symbol.asyncDispose]()
    vi.advanceTimersByTime(600_000)
    expect(await keys.findPublicKey('a')).toBeDefined()
    await keys.close()
    expect(await keys.findPublicKey('a')).toBeDefined()
    await expect(keys.findPublicKey('b')).rejects.toThrow(ControlPlaneUnreachable)
    expect(lines).toEqual(['control_plane.unreachable'])
  })

  it.each([
    ['an error status', 500, '{}'],
    ['an empty list', 200, '{"keys":[]}'],
    ['keys of another type', 200, '{"keys":[{"kty":"RSA","kid":"a"}]}'],
    ['invalid JSON', 200, '<html>'],
    ['an invalid key', 200, '{"keys":[{"kty":"OKP","crv":"Ed25519","kid":"b","x":"AA"}]}'],
  ])('stay valid when the control plane answers with %s', async (_, status, body) => {
    await using control = await startControlPlane([await newKey('a')])
    const keys = await open(control.url)
    await keys.findPublicKey('a')
    Object.assign(control, { status, body })
    vi.advanceTimersByTime(5001)
    await expect(keys.findPublicKey('b')).rejects.toThrow(ControlPlaneUnreachable)
    expect(await keys.findPublicKey('a')).toBeDefined()
  })

  it('are never those of an address that the control plane redirects to', async () => {
    await using other = await startControlPlane([await newKey('a')])
    await using control = await startControlPlane([await newKey('b')])
    Object.assign(control, { status: 302, headers: { location: `${other.url}/.well-known/jwks.json` } })
    const keys = await open(control.url)
    await expect(keys.findPublicKey('a')).rejects.toThrow(ControlPlaneUnreachable)
    expect(other.requests).toBe(0)
  })

  it('are fetched again a second after a failure', async () => {
    await using control = await startControlPlane([await newKey('a')])
    control.status = 503
    const keys = await open(control.url)
    await expect(keys.findPublicKey('a')).rejects.toThrow(ControlPlaneUnreachable)
    control.status = 200
    vi.advanceTimersByTime(1001)
    expect(await keys.findPublicKey('a')).toBeDefined()
    expect(lines).toEqual(['control_plane.unreachable', 'control_plane.reachable'])
  })

  it('make a file private that other users could change', async () => {
    await using control = await startControlPlane([await newKey('a')])
    const first = await open(control.url)
    await first.findPublicKey('a')
    await first.close()
    await chmod(file, 0o666)
    await (await open(control.url)).close()
    expect((await stat(file)).mode & 0o777).toBe(0o600)
    expect(lines).toContain('files.made_private')
  })

  it('are saved in a file that only this user can read and write', async () => {
    await using control = await startControlPlane([await newKey('a')])
    const keys = await open(control.url)
    await keys.findPublicKey('a')
    await keys.close()
    expect((await stat(file)).mode & 0o777).toBe(0o600)
    expect(JSON.parse(await readFile(file, 'utf8'))).toMatchObject({ source: control.url, keys: [{ kid: 'a' }] })
  })

  it('are used although their file is invalid or cannot be written', async () => {
    await using control = await startControlPlane([await newKey('a')])
    await writeFile(file, '{"source":')
    const keys = await open(control.url)
    expect(await keys.findPublicKey('a')).toBeDefined()
    const blocked = await openPublishedKeys({ controlPlaneUrl: control.url, file: `${file}/below`, log })
    expect(await blocked.findPublicKey('a')).toBeDefined()
    expect(lines.filter((event) => event.startsWith('keys.'))).toContain('keys.save_failed')
  })
})
