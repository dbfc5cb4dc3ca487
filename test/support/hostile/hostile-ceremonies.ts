import fc from 'fast-check'
import type { Arbitrary } from 'fast-check'
import { hostileValues, toText } from './hostile-values.ts'
import { placesOf, valueAt, withReplaced, withValueAt } from './json-places.ts'

/** A change to the body of a WebAuthn ceremony. */
export type Change =
  /** Replaces one of its values. */
  | { readonly at: number; readonly value: unknown }
  /** Flips bits in one of its base64url fields: index and mask of each byte. */
  | { readonly at: number; readonly flips: readonly (readonly [number, number])[] }
  /** Replaces a member of the client data that the authenticator signs (WebAuthn, section 5.8.1). */
  | { readonly member: string; readonly value: unknown }

/**
 * A real ceremony with changes that make it invalid. `begun`: its challenge was issued for this body, not used before.
 */
export type Ceremony = { readonly begun: boolean; readonly fields: object; readonly changes: readonly Change[] }

/** Ceremonies with up to three changes. */
export function changedCeremonies(): Arbitrary<Ceremony> {
  const at = fc.nat(1000)
  const change: Arbitrary<Change> = fc.oneof(
    fc.record({ at, value: hostileValues }),
    fc.record({
      at,
      flips: fc.array(fc.tuple(fc.nat(1000), fc.integer({ min: 0, max: 255 })), { minLength: 1, maxLength: 4 }),
    }),
    fc.record({
      member: fc.constantFrom('type', 'challenge', 'origin', 'crossOrigin', '__proto__'),
      value: hostileValues,
    }),
  )
  const fields = fc.record(
    {
      name: hostileValues,
      email: hostileValues,
      team: hostileValues,
      deviceId: hostileValues,
      deviceName: hostileValues,
    },
    { requiredKeys: [] },
  )
  return fc.record({
    begun: fc.boolean(),
    fields: fc.oneof({ weight: 4, arbitrary: fc.constant({}) }, { weight: 1, arbitrary: fields }),
    changes: fc.array(change, { maxLength: 3 }),
  })
}

/** The text of the body of a real ceremony after its changes. */
export function changed(whole: object, { fields, changes }: Ceremony): string {
  const body = changes.reduce<unknown>(withChange, { ...whole, ...fields })
  return toText(body)
}

function withChange(body: unknown, change: Change): unknown {
  if ('value' in change && 'at' in change) return withReplaced(body, change.at, change.value)
  const texts = placesOf(body).filter((place) => typeof valueAt(body, place) === 'string')
  const clientData = texts.find((place) => place.at(-1) === 'clientDataJSON')
  if ('member' in change) {
    if (!clientData) return body
    const signed: unknown = parse(Buffer.from(String(valueAt(body, clientData)), 'base64url').toString())
    const text = toText(withValueAt(signed, [change.member], change.value))
    return withValueAt(body, clientData, Buffer.from(text).toString('base64url'))
  }
  const place = texts[change.at % Math.max(texts.length, 1)]
  if (!place) return body
  const bytes = Buffer.from(String(valueAt(body, place)), 'base64url')
  for (const [index, byte] of change.flips) if (bytes.length > 0) bytes[index % bytes.length] = byte
  return withValueAt(body, place, bytes.toString('base64url'))
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return {}
  }
}
