import { createHmac, timingSafeEqual } from 'node:crypto'
import { parseObject, readCount, readText } from './json/read-json.ts'
import type { Seal } from './neutral.ts'
import type { Seals } from './translated-dialect.ts'

/** What seals depend on. */
export type SealNeeds = {
  /** A short name of the backend and its dialect, the same in every process. */
  readonly backend: string
  /** The model's name at the backend. */
  readonly model: string
  /** The team of the caller. Another team cannot send this team's reasoning to the backend. */
  readonly team: string
  /** The first key makes seals, and all of them open seals. Without a key, seals have no payload. */
  readonly keys: readonly Uint8Array[]
}

/** A longer seal is ignored. */
const MAX_SEAL_CHARACTERS = 1024 * 1024

/** A request with more characters of seals is refused, because each of them is hashed. */
const MAX_SEALS_CHARACTERS = 16 * 1024 * 1024

const PREFIX = 'svc1'
const MAC_CHARACTERS = 22

/** Whether a value has the form of a seal. It may be forged. */
export function isSealed(value: unknown): value is string {
  return typeof value === 'string' && value.startsWith(`${PREFIX}.`)
}

/** Returns the number of characters of reasoning that belong to a seal. The seal may be forged. */
export function sealedLength(sealed: string): number {
  return readCount(parseObject(readHead(sealed))?.l) ?? 0
}

/**
 * Makes and reads the seals of one call, of the form `svc1.<head>.<payload>.<mac>`. The head names the backend, the
 * model and the kind; the payload is the backend's text; the mac (HMAC-SHA-256) covers head, payload, team and the
 * reasoning that was shown. So a seal is not accepted with an edited text, by another team, at another backend or with
 * other keys.
 */
export function makeSeals({ backend, model, team, keys }: SealNeeds): Seals {
  const hasKey = keys.length > 0
  const [first = '', ...others] = keys
  const macOf = (key: Uint8Array | string, signed: string, text: string): string =>
    createHmac('sha256', key).update(`${signed}\0${team}\0${text}`).digest('base64url').slice(0, MAC_CHARACTERS)

  let read = 0

  return {
    write({ kind, data, before }, text) {
      const shown = hasKey ? { k: kind, payload: data } : { k: 'plain', payload: '' }
      const head = { b: backend, m: model, k: shown.k, n: before, l: text.length }
      const signed = `${PREFIX}.${Buffer.from(JSON.stringify(head)).toString('base64url')}.${shown.payload}`
      return `${signed}.${macOf(first, signed, text)}`
    },
    areTooLarge: () => read > MAX_SEALS_CHARACTERS,
    read(sealed, text) {
      if (!isSealed(sealed) || sealed.length > MAX_SEAL_CHARACTERS) return null
      read += sealed.length
      if (read > MAX_SEALS_CHARACTERS) return null
      const end = sealed.lastIndexOf('.')
      const signed = sealed.slice(0, end)
      const mac = sealed.slice(end + 1)
      if (![first, ...others].some((key) => isEqual(mac, macOf(key, signed, text)))) return null
      const head = parseObject(readHead(sealed)) ?? {}
      const kind = KINDS.find((known) => known === head.k)
      if (kind === undefined || head.b !== backend || (!hasKey && kind !== 'plain')) return null
      const data = signed.slice(signed.indexOf('.', PREFIX.length + 1) + 1)
      return { kind, model: readText(head.m), data, before: typeof head.n === 'string' ? head.n : null }
    },
  }
}

const KINDS: readonly Seal['kind'][] = ['signed', 'redacted', 'encrypted', 'plain']

function readHead(sealed: string): string {
  const from = PREFIX.length + 1
  return Buffer.from(sealed.slice(from, sealed.indexOf('.', from)), 'base64url').toString()
}

function isEqual(given: string, expected: string): boolean {
  const [a, b] = [Buffer.from(given), Buffer.from(expected)]
  return a.length === b.length && timingSafeEqual(a, b)
}
