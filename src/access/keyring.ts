import type { CryptoKey, JWK } from 'jose'
import { exportJWK } from 'jose/key/export'
import { generateKeyPair } from 'jose/key/generate/keypair'
import { importJWK } from 'jose/key/import'
import type { PublicKey } from '../../generated/openapi.ts'
import { addSeconds } from '../kernel/clock.ts'
import type { Clock } from '../kernel/clock.ts'
import type { RefreshKey } from '../kernel/credentials/refresh-token.ts'
import { DAY_SECONDS } from '../kernel/durations.ts'
import { newKeyMaterial, Secret } from '../kernel/secret.ts'
import type { SigningKey } from './access-token.ts'
import { toJwk } from './key-set.ts'
import type { KeyPurpose, SigningKeyStore, StoredKey } from './signing-key-store.ts'

/** The keys of a deployment, which its processes share through the database. */
export type Keyring = {
  /** The key that signs access tokens now. */
  signingKey(): SigningKey
  /** The key that refresh tokens are computed with now. */
  refreshKey(): RefreshKey
  findRefreshKey(keyNumber: number): RefreshKey | undefined
  /**
   * Finds the key that verifies tokens of this `kid`. For an unknown `kid` it queries the database, at most every 5 s,
   * and rejects when the database does not answer.
   */
  findPublicKey(kid: string): Promise<CryptoKey | undefined>
  /** The published keys: those that sign, that will sign, and that signed tokens which have not expired. */
  publicKeys(): PublicKey[]
  /** Publishes the next signing key when the newest is 30 days old, and loads the keys of other processes. */
  rotate(): Promise<void>
}

/** The time until a key gets a successor. */
const KEY_SECONDS = 30 * DAY_SECONDS

/**
 * How long a key is published before it signs: more than twice the time that clients cache the key set (five minutes),
 * and more than every process takes to load it.
 */
const PUBLISHED_SECONDS = 900

/** How long a key is accepted after its last token has expired, for clock differences and slow processes. */
const GRACE_SECONDS = 300

/** The pause between two queries for unknown keys, so that invented key ids do not cause a query each. */
const MIN_MS_BETWEEN_RELOADS = 5000

type Keys = { readonly access: readonly AccessKey[]; readonly refresh: readonly RefreshKey[] }
type AccessKey = SigningKey & {
  readonly publicKey: CryptoKey
  readonly published: PublicKey
  readonly signsFrom: Date
  readonly retiresAt: Date | null
}

/**
 * Opens the keyring. The first process of a deployment creates the keys. `accessTokenSeconds` is the lifetime of
 * tokens.
 */
export async function openKeyring(store: SigningKeyStore, clock: Clock, accessTokenSeconds: number): Promise<Keyring> {
  await makeMissingKeys(store, clock.now())
  let keys = await loadKeys(store, clock.now())
  let loadedAt = performance.now()
  let reloading: Promise<void> | null = null

  /** Callers that find the same key missing wait for one query. After a failed one, the next caller queries again. */
  async function reload(): Promise<void> {
    if (performance.now() - loadedAt < MIN_MS_BETWEEN_RELOADS) return
    reloading ??= reloadOnce().finally(() => (reloading = null))
    await reloading
  }

  async function reloadOnce(): Promise<void> {
    keys = await loadKeys(store, clock.now())
    loadedAt = performance.now()
  }

  const accepted = () => keys.access.filter(({ retiresAt }) => retiresAt === null || clock.now() < retiresAt)

  async function publishNext(): Promise<void> {
    const now = clock.now()
    const { kid, signsFrom } = newest(keys.access)
    if (now < addSeconds(signsFrom, KEY_SECONDS)) return
    const next = await newAccessKey(kidAfter(kid), addSeconds(now, PUBLISHED_SECONDS))
    const retiresAt = addSeconds(next.signsFrom, accessTokenSeconds + GRACE_SECONDS)
    await store.publishNextKey(next, { kid, retiresAt }, now)
  }

  return {
    signingKey: () => newest(startedKeys(keys.access, clock.now())),
    refreshKey: () => newest(keys.refresh),
    findRefreshKey: (keyNumber) => keys.refresh.find(({ number }) => number === keyNumber),
    async findPublicKey(kid) {
      if (!keys.access.some((key) => key.kid === kid)) await reload()
      return accepted().find((key) => key.kid === kid)?.publicKey
    },
    publicKeys: () => accepted().map(({ published }) => published),
    async rotate() {
      keys = await loadKeys(store, clock.now())
      await publishNext()
      keys = await loadKeys(store, clock.now())
    },
  }
}

/**
 * The keys that may sign now. The first key always may, even when this clock is behind that of the process that made
 * it.
 */
function startedKeys(keys: readonly AccessKey[], now: Date): readonly AccessKey[] {
  return keys.filter(({ signsFrom }, at) => at === 0 || signsFrom <= now)
}

function newest<Key>(keys: readonly Key[]): Key {
  const key = keys.at(-1)
  if (key === undefined) throw new Error('The database has no signing key.')
  return key
}

async function makeMissingKeys(store: SigningKeyStore, now: Date): Promise<void> {
  const stored = await store.findKeys(now)
  const missing = (purpose: KeyPurpose) => !stored.some((key) => key.purpose === purpose)
  // The first keys have fixed names, so that of several processes that start together only one saves its key.
  if (missing('access_token')) await store.saveKey(await newAccessKey('access-1', now), now)
  if (missing('refresh_token')) await store.saveKey(newRefreshKey(1, now), now)
}

/** The name of the next key. All processes compute the same one, so that only one key is saved. */
function kidAfter(kid: string): string {
  return `access-${Number(kid.split('-')[1]) + 1}`
}

async function newAccessKey(kid: string, signsFrom: Date): Promise<StoredKey> {
  const { privateKey } = await generateKeyPair('EdDSA', { extractable: true })
  const secret = new Secret(JSON.stringify(await exportJWK(privateKey)))
  return { kid, purpose: 'access_token', secret, signsFrom, retiresAt: null }
}

function newRefreshKey(number: number, signsFrom: Date): StoredKey {
  return { kid: `refresh-${number}`, purpose: 'refresh_token', secret: newKeyMaterial(), signsFrom, retiresAt: null }
}

async function loadKeys(store: SigningKeyStore, now: Date): Promise<Keys> {
  const stored = await store.findKeys(now)
  const of = (purpose: KeyPurpose) => stored.filter((key) => key.purpose === purpose)
  return {
    access: await Promise.all(of('access_token').map(toAccessKey)),
    refresh: of('refresh_token').map(({ kid, secret }) => ({ number: Number(kid.split('-')[1]), secret })),
  }
}

async function toAccessKey({ kid, secret, signsFrom, retiresAt }: StoredKey): Promise<AccessKey> {
  // `newAccessKey` stored an Ed25519 private JWK.
  const jwk = JSON.parse(secret.reveal()) as JWK & { x: string }
  const published = toJwk({ kid, x: jwk.x })
  const [privateKey, publicKey] = await Promise.all([importJWK(jwk, 'EdDSA'), importJWK(published, 'EdDSA')])
  if (privateKey instanceof Uint8Array || publicKey instanceof Uint8Array)
    throw new Error(`Key ${kid} is not a key pair.`)
  return { kid, privateKey, publicKey, published, signsFrom, retiresAt }
}
