import { createHmac, timingSafeEqual } from 'node:crypto'
import type { Seals } from './hub.ts'
import { parseObject, readCount, readText } from './json/read-json.ts'
import type { Seal } from './neutral.ts'

export type SealNeeds = {
  /** A short name of the backend and its dialect, the same in every process. */
  readonly backend: string
  /** The name by which the backend knows the model. */
  readonly model: string
  /** Reasoning of one team is never replayed by another through the service's account. */
  readonly team: string
  /**
   * Derived from the backend's credential; null where it has none, so that only reasoning without a payload is carried.
   */
  readonly key: Uint8Array | null
}

/** A longer one is dropped. */
const MAX_SEAL_CHARACTERS = 1024 * 1024

const PREFIX = 'svc1'
const MAC_CHARACTERS = 22

/** Whether a client gave back what `Seals.write` gave it, genuine or not. */
export function isSealed(value: unknown): value is string {
  return typeof value === 'string' && value.startsWith(`${PREFIX}.`)
}

/**
 * How many characters of the reasoning belong to this seal: in the chat dialect all reasoning of a turn is one text.
 */
export function sealedLength(sealed: string): number {
  return readCount(parseObject(readHead(sealed))?.l) ?? 0
}

/**
 * Seals of the form `svc1.<head>.<payload>.<mac>`: the head says whose the payload is, the payload is the backend's own
 * text, and the mac covers both, the team and the reasoning that was shown. An edited text, another team, another
 * backend or another account does not open.
 */
export function makeSeals({ backend, model, team, key }: SealNeeds): Seals {
  const macOf = (signed: string, text: string): string =>
    createHmac('sha256', key ?? '')
      .update(`${signed}\0${team}\0${text}`)
      .digest('base64url')
      .slice(0, MAC_CHARACTERS)

  return {
    write({ kind, data, before }, text) {
      const shown = key === null ? { k: 'plain', payload: '' } : { k: kind, payload: data }
      const head = { b: backend, m: model, k: shown.k, n: before, l: text.length }
      const signed = `${PREFIX}.${Buffer.from(JSON.stringify(head)).toString('base64url')}.${shown.payload}`
      return `${signed}.${macOf(signed, text)}`
    },
    read(sealed, text) {
      if (!isSealed(sealed) || sealed.length > MAX_SEAL_CHARACTERS) return null
      const end = sealed.lastIndexOf('.')
      const signed = sealed.slice(0, end)
      if (!isEqual(sealed.slice(end + 1), macOf(signed, text))) return null
      const head = parseObject(readHead(sealed)) ?? {}
      const kind = KINDS.find((known) => known === head.k)
      if (kind === undefined || head.b !== backend || (key === null && kind !== 'plain')) return null
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
