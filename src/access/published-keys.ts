import type { CryptoKey } from 'jose'
import { importJWK } from 'jose/key/import'
import { DAY_SECONDS } from '../kernel/durations.ts'
import { isObject } from '../kernel/json.ts'
import type { Logger } from '../log.ts'
import type { FindPublicKey } from './access-token.ts'
import { toJwk, toPublishedKeys } from './key-set.ts'
import type { PublishedKey } from './key-set.ts'
import { readKeysFile, writeKeysFile } from './keys-file.ts'

type Needs = {
  /** The control plane's address, without a slash at the end. */
  readonly controlPlaneUrl: string
  /**
   * Keeps the keys for starts without the control plane. The keys are public. But only this user may write the file:
   * others could add a key of their own, and sign in as anyone.
   */
  readonly file: string
  readonly log: Logger
}

export type PublishedKeys = {
  /**
   * Finds a key in memory, and asks the control plane when it is not there. Rejects with `ControlPlaneUnreachable` when
   * a key is unknown and the control plane does not answer.
   */
  readonly findPublicKey: FindPublicKey
  /**
   * Whether the control plane does not answer. After a failed request it says so at once, and asks again in the
   * background.
   */
  isControlPlaneAway(): boolean | Promise<boolean>
  /** Waits for a running request. */
  close(): Promise<void>
}

/** A key cannot be checked: it is not known here, and the control plane does not answer. */
export class ControlPlaneUnreachable extends Error {
  override readonly name = 'ControlPlaneUnreachable'
}

/** The pause between two requests for keys, so that tokens with invented key ids do not cause a request each. */
const MIN_MS_BETWEEN_LOADS = 5000
/** The pause after a failed request. */
const MIN_MS_AFTER_FAILURE = 1000
const ANSWER_TIMEOUT_MS = 3000
/** The first use of `fetch` loads modules for 40 ms. A start does not wait for that; a call that needs a key does. */
const FIRST_LOAD_AFTER_MS = 100
const DEFAULT_MAX_AGE_SECONDS = 300
const MAX_MAX_AGE_SECONDS = DAY_SECONDS

type Loaded = { readonly keys: readonly PublishedKey[]; readonly maxAgeMs: number }

/**
 * Opens the keys that a control plane publishes, starting with those of the file. Keys are loaded in the background
 * right after the start, and again when the answer's `max-age` is over.
 */
export async function openPublishedKeys({ controlPlaneUrl, file, log }: Needs): Promise<PublishedKeys> {
  let saved = await readSavedKeys(file, controlPlaneUrl, log)
  let keys = await importKeys(saved)
  let nextLoadAt = 0
  let staleAt = 0
  let isUnreachable = false
  let loading: Promise<void> | null = null

  async function load(): Promise<void> {
    try {
      const loaded = await fetchKeys(`${controlPlaneUrl}/.well-known/jwks.json`)
      keys = await importKeys(loaded.keys)
      if (isUnreachable) log.info({}, 'control_plane.reachable')
      isUnreachable = false
      nextLoadAt = performance.now() + MIN_MS_BETWEEN_LOADS
      staleAt = performance.now() + loaded.maxAgeMs
      await save(loaded.keys)
    } catch (err) {
      // Logged once, not at each attempt.
      if (!isUnreachable) log.warn({ err }, 'control_plane.unreachable')
      isUnreachable = true
      nextLoadAt = performance.now() + MIN_MS_AFTER_FAILURE
    }
  }

  async function save(loaded: readonly PublishedKey[]): Promise<void> {
    if (JSON.stringify(loaded) === JSON.stringify(saved)) return
    await writeKeysFile(file, { source: controlPlaneUrl, keys: loaded }).then(
      () => (saved = loaded),
      (err: unknown) => log.warn({ err, file }, 'keys.save_failed'),
    )
  }

  function reload(): Promise<void> {
    if (!loading && performance.now() < nextLoadAt) return Promise.resolve()
    return (loading ??= load().finally(() => (loading = null)))
  }

  const firstLoad = setTimeout(() => void reload(), FIRST_LOAD_AFTER_MS)
  return {
    findPublicKey(kid) {
      const known = keys.get(kid)
      if (known && performance.now() < staleAt) return known
      const reloaded = reload()
      if (known) return known
      return reloaded.then(() => {
        const found = keys.get(kid)
        if (!found && isUnreachable) throw new ControlPlaneUnreachable('The control plane does not answer.')
        return found
      })
    },
    isControlPlaneAway() {
      const reloaded = reload()
      return isUnreachable || reloaded.then(() => isUnreachable)
    },
    async close() {
      clearTimeout(firstLoad)
      await loading
    },
  }
}

async function fetchKeys(url: string): Promise<Loaded> {
  const answer = await fetch(url, { redirect: 'error', signal: AbortSignal.timeout(ANSWER_TIMEOUT_MS) })
  if (!answer.ok) {
    await answer.body?.cancel()
    throw new Error(`The control plane answered a request for its keys with status ${answer.status}.`)
  }
  const set: unknown = await answer.json()
  const keys = isObject(set) ? toPublishedKeys(set['keys']) : []
  if (keys.length === 0) throw new Error('The control plane publishes no key that can verify access tokens.')
  const maxAge = /\bmax-age=(\d{1,9})/.exec(answer.headers.get('cache-control') ?? '')?.[1]
  const seconds = Math.min(Number(maxAge ?? DEFAULT_MAX_AGE_SECONDS), MAX_MAX_AGE_SECONDS)
  return { keys, maxAgeMs: seconds * 1000 }
}

/** The keys of an earlier run; none when the file is missing, unreadable or another control plane's. */
async function readSavedKeys(file: string, source: string, log: Logger): Promise<readonly PublishedKey[]> {
  try {
    const saved = await readKeysFile(file, () => log.warn({ path: file }, 'files.made_private'))
    const keys = saved?.source === source ? saved.keys : []
    await importKeys(keys)
    return keys
  } catch (err) {
    log.warn({ err, file }, 'keys.read_failed')
    return []
  }
}

async function importKeys(keys: readonly PublishedKey[]): Promise<ReadonlyMap<string, CryptoKey>> {
  const imported = keys.map(async (published) => {
    const key = await importJWK(toJwk(published), 'EdDSA')
    if (key instanceof Uint8Array) throw new Error(`Key ${published.kid} is not a public key.`)
    return [published.kid, key] as const
  })
  return new Map(await Promise.all(imported))
}
