import { exportJWK, generateKeyPair, importJWK } from 'jose'
import type { CryptoKey, JWK } from 'jose'
import type { PublicKey } from '../../generated/openapi.ts'
import type { SigningKey } from './access-token.ts'
import { addSeconds } from '../kernel/clock.ts'
import type { Clock } from '../kernel/clock.ts'
import type { RefreshKey } from '../kernel/refresh-token.ts'
import { newKeyMaterial, Secret } from '../kernel/secret.ts'
import type { AccessStore, KeyPurpose, StoredKey } from './store.ts'

/** The keys of a deployment, shared by its processes through the database. */
export type Keyring = {
  /** Signs access tokens now. */
  signingKey(): SigningKey
  /** Makes refresh tokens now. */
  refreshKey(): RefreshKey
  findRefreshKey(keyNumber: number): RefreshKey | undefined
  /** Looks once more into the database for a `kid` that it does not know: another process may have made it. */
  findPublicKey(kid: string): Promise<CryptoKey | undefined>
  /** What verifies access tokens, for anybody: the keys that sign, that will sign, and that signed what has not ended. */
  publicKeys(): PublicKey[]
  /** Publishes the next signing key when the newest is old enough, and reads what other processes published. For now and then. */
  turn(): Promise<void>
}

/** How long a key is the newest. */
const KEY_SECONDS = 30 * 86_400

/**
 * How long a key is published before it signs: longer than anybody keeps the published set (five minutes), twice, and longer than every
 * process takes to read it.
 */
const PUBLISHED_SECONDS = 900

/** How much longer than its last token a key is accepted, for clocks that differ and processes that were slow to learn of the next. */
const GRACE_SECONDS = 300

/** A stranger's made-up `kid` must not cost a query each time. */
const LEAST_MS_BETWEEN_RELOADS = 5000

type Keys = { readonly access: readonly AccessKey[]; readonly refresh: readonly RefreshKey[] }
type AccessKey = SigningKey & {
  readonly publicKey: CryptoKey
  readonly published: PublicKey
  readonly signsFrom: Date
  readonly retiresAt: Date | null
}

/** Opens the keyring; the first process of a deployment makes the keys. `accessTokenSeconds` is how long a key's last token lives. */
export async function openKeyring(store: AccessStore, clock: Clock, accessTokenSeconds: number): Promise<Keyring> {
  await makeMissingKeys(store, clock.now())
  let keys = await loadKeys(store, clock.now())
  let loadedAt = performance.now()

  async function reload(): Promise<void> {
    if (performance.now() - loadedAt < LEAST_MS_BETWEEN_RELOADS) return
    loadedAt = performance.now()
    keys = await loadKeys(store, clock.now())
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
    signingKey: () => newest(begun(keys.access, clock.now())),
    refreshKey: () => newest(keys.refresh),
    findRefreshKey: (keyNumber) => keys.refresh.find(({ number }) => number === keyNumber),
    async findPublicKey(kid) {
      if (!keys.access.some((key) => key.kid === kid)) await reload()
      return accepted().find((key) => key.kid === kid)?.publicKey
    },
    publicKeys: () => accepted().map(({ published }) => published),
    async turn() {
      keys = await loadKeys(store, clock.now())
      await publishNext()
      keys = await loadKeys(store, clock.now())
    },
  }
}

/** The keys that sign. The very first one does at once, also where the clock is behind that of the process which made it. */
function begun(keys: readonly AccessKey[], now: Date): readonly AccessKey[] {
  return keys.filter(({ signsFrom }, at) => at === 0 || signsFrom <= now)
}

function newest<Key>(keys: readonly Key[]): Key {
  const key = keys.at(-1)
  if (key === undefined) throw new Error('The database has no signing key.')
  return key
}

async function makeMissingKeys(store: AccessStore, now: Date): Promise<void> {
  const stored = await store.findKeys(now)
  const missing = (purpose: KeyPurpose) => !stored.some((key) => key.purpose === purpose)
  // Fixed first names: of several processes that start together, one makes the key and the others find it.
  if (missing('access_token')) await store.saveKey(await newAccessKey('access-1', now), now)
  if (missing('refresh_token')) await store.saveKey(newRefreshKey(1, now), now)
}

/** Of several processes that publish the next key at once, all call it the same, so one key is kept. */
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

async function loadKeys(store: AccessStore, now: Date): Promise<Keys> {
  const stored = await store.findKeys(now)
  const of = (purpose: KeyPurpose) => stored.filter((key) => key.purpose === purpose)
  return {
    access: await Promise.all(of('access_token').map(toAccessKey)),
    refresh: of('refresh_token').map(({ kid, secret }) => ({ number: Number(kid.split('-')[1]), secret })),
  }
}

async function toAccessKey({ kid, secret, signsFrom, retiresAt }: StoredKey): Promise<AccessKey> {
  // Stored by `newAccessKey`: an Ed25519 private JWK.
  const jwk = JSON.parse(secret.reveal()) as JWK & { x: string }
  const publicJwk = { kty: 'OKP', crv: 'Ed25519', x: jwk.x } as const
  const [privateKey, publicKey] = await Promise.all([importJWK(jwk, 'EdDSA'), importJWK(publicJwk, 'EdDSA')])
  if (privateKey instanceof Uint8Array || publicKey instanceof Uint8Array)
    throw new Error(`Key ${kid} is not a key pair.`)
  return {
    kid,
    privateKey,
    publicKey,
    published: { ...publicJwk, kid, alg: 'EdDSA', use: 'sig' },
    signsFrom,
    retiresAt,
  }
}
