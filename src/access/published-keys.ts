import { mkdir, readFile, rename, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { importJWK } from 'jose'
import type { CryptoKey } from 'jose'
import type { FindPublicKey } from './access-token.ts'
import type { Logger } from '../log.ts'

type Needs = {
  /** Of the control plane, without a slash at the end. */
  readonly controlPlaneUrl: string
  /** Keeps the keys for a start while the control plane is away. Public keys: no secret, but who can write it can sign in as anybody. */
  readonly file: string
  readonly log: Logger
}

export type PublishedKeys = {
  /**
   * Finds a key in memory; asks the control plane for one that is not there, and behind the answer when what it said has got old.
   * Rejects with a `ControlPlaneAway` when a key is unknown and the control plane cannot be asked.
   */
  readonly findPublicKey: FindPublicKey
  /** Waits for what is under way. */
  close(): Promise<void>
}

/** Nobody can tell whether a key is good: neither memory nor the file has it, and the control plane does not answer. */
export class ControlPlaneAway extends Error {
  override readonly name = 'ControlPlaneAway'
}

/** A stranger's made-up `kid` must not cost a request each time. */
const LEAST_MS_BETWEEN_LOADS = 5000
/** A control plane that was away is asked again sooner. */
const LEAST_MS_AFTER_FAILURE = 1000
const ANSWER_MS = 3000
const DEFAULT_MAX_AGE_SECONDS = 300
const MOST_MAX_AGE_SECONDS = 86_400

/** What an Ed25519 key is published as (RFC 8037, section 2). */
type PublishedKey = { readonly kid: string; readonly x: string }
type Loaded = { readonly keys: readonly PublishedKey[]; readonly maxAgeMs: number }

/** Opens the keys that a control plane publishes, from the file where there is one; they are asked for at once, without waiting. */
export async function openPublishedKeys({ controlPlaneUrl, file, log }: Needs): Promise<PublishedKeys> {
  const kept = await readKept(file, controlPlaneUrl, log)
  let keys = await importAll(kept)
  let saved = textOf(controlPlaneUrl, kept)
  let nextLoadAt = 0
  let staleAt = 0
  let isAway = false
  let loading: Promise<void> | null = null

  async function load(): Promise<void> {
    try {
      const loaded = await fetchKeys(`${controlPlaneUrl}/.well-known/jwks.json`)
      keys = await importAll(loaded.keys)
      if (isAway) log.info({}, 'control_plane.back')
      isAway = false
      nextLoadAt = performance.now() + LEAST_MS_BETWEEN_LOADS
      staleAt = performance.now() + loaded.maxAgeMs
      await save(textOf(controlPlaneUrl, loaded.keys))
    } catch (err) {
      // It says so when it goes, not at each try.
      if (!isAway) log.warn({ err }, 'control_plane.away')
      isAway = true
      nextLoadAt = performance.now() + LEAST_MS_AFTER_FAILURE
    }
  }

  async function save(text: string): Promise<void> {
    if (text === saved) return
    await writeWhole(file, text).then(
      () => (saved = text),
      (err: unknown) => log.warn({ err, file }, 'keys.unsaved'),
    )
  }

  function reload(): Promise<void> {
    if (!loading && performance.now() < nextLoadAt) return Promise.resolve()
    return (loading ??= load().finally(() => (loading = null)))
  }

  void reload()
  return {
    findPublicKey(kid) {
      const known = keys.get(kid)
      if (known && performance.now() < staleAt) return known
      const reloaded = reload()
      if (known) return known
      return reloaded.then(() => {
        const found = keys.get(kid)
        if (!found && isAway) throw new ControlPlaneAway('The control plane cannot be asked for its keys.')
        return found
      })
    },
    async close() {
      await loading
    },
  }
}

async function fetchKeys(url: string): Promise<Loaded> {
  const answer = await fetch(url, { redirect: 'error', signal: AbortSignal.timeout(ANSWER_MS) })
  if (!answer.ok) throw new Error(`The control plane answered ${answer.status} when asked for its keys.`)
  const keys = toPublishedKeys(await answer.json())
  if (keys.length === 0) throw new Error('The control plane publishes no key that verifies access tokens.')
  const maxAge = /\bmax-age=(\d{1,9})/.exec(answer.headers.get('cache-control') ?? '')?.[1]
  const seconds = Math.min(Number(maxAge ?? DEFAULT_MAX_AGE_SECONDS), MOST_MAX_AGE_SECONDS)
  return { keys, maxAgeMs: seconds * 1000 }
}

/** The keys of a JWK set (RFC 7517, section 5) that are of our kind. */
function toPublishedKeys(set: unknown): PublishedKey[] {
  const keys = isObject(set) && Array.isArray(set['keys']) ? (set['keys'] as unknown[]) : []
  return keys.flatMap((key) => {
    if (!isObject(key) || key['kty'] !== 'OKP' || key['crv'] !== 'Ed25519') return []
    const { kid, x } = key
    return typeof kid === 'string' && typeof x === 'string' ? [{ kid, x }] : []
  })
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null
}

async function importAll(keys: readonly PublishedKey[]): Promise<ReadonlyMap<string, CryptoKey>> {
  const imported = keys.map(async ({ kid, x }) => {
    const key = await importJWK({ kty: 'OKP', crv: 'Ed25519', x }, 'EdDSA')
    if (key instanceof Uint8Array) throw new Error(`Key ${kid} is not a public key.`)
    return [kid, key] as const
  })
  return new Map(await Promise.all(imported))
}

/** The keys of an earlier run; none when there are none, or when they are another control plane's. */
async function readKept(file: string, source: string, log: Logger): Promise<PublishedKey[]> {
  try {
    const kept: unknown = JSON.parse(await readFile(file, 'utf8'))
    const keys = isObject(kept) && kept['source'] === source ? toPublishedKeys(kept) : []
    await importAll(keys)
    return keys
  } catch (err) {
    const isMissing = err instanceof Error && 'code' in err && err.code === 'ENOENT'
    if (!isMissing) log.warn({ err, file }, 'keys.unread')
    return []
  }
}

function textOf(source: string, keys: readonly PublishedKey[]): string {
  const set = keys.map(({ kid, x }) => ({ kty: 'OKP', crv: 'Ed25519', alg: 'EdDSA', use: 'sig', kid, x }))
  return `${JSON.stringify({ source, keys: set }, null, 2)}\n`
}

/** Whole or not at all, however the process ends; two gateways of one folder do not meet. */
async function writeWhole(file: string, text: string): Promise<void> {
  await mkdir(dirname(file), { recursive: true, mode: 0o700 })
  const part = `${file}.${process.pid}`
  await writeFile(part, text, { mode: 0o600 })
  await rename(part, file)
}
