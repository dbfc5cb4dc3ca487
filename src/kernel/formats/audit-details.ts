import { isUuid } from '../identifier.ts'
import { writeDollars } from './usd.ts'
import { toUtcText } from './utc-text.ts'

/** What an audit event says of a change. */
type AuditedChange = { readonly subject: string | null; readonly details: Readonly<Record<string, unknown>> }

/** The details that people understand, as `role admin, previous role member`, without the subject. */
export function writeAuditDetails({ subject, details }: AuditedChange): string {
  return Object.entries(details)
    .filter(([, value]) => value !== subject)
    .map(([name, value]) => toText(name, value))
    .filter(Boolean)
    .join(', ')
}

/** Details whose values are names of this service, with underscores. */
const CODED = ['via', 'reason', 'subject']

/** A detail with its name; empty for ids, empty lists, and what is no text, number or list of texts. */
function toText(name: string, value: unknown): string {
  const words = name.replace(/NanoUsd$/, '').replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)
  if (typeof value === 'number') return `${words} ${name.endsWith('NanoUsd') ? writeDollars(value) : value}`
  if (Array.isArray(value)) return value.every(isId) ? '' : `${words} ${shorten(value).join(' ')}`
  if (typeof value !== 'string' || isId(value) || name.endsWith('Id')) return ''
  if (CODED.includes(name)) return `${words} ${value.replaceAll('_', ' ')}`
  return `${words} ${name.endsWith('At') ? toUtcText(new Date(value)) : value}`
}

/** More names than this make a row that is higher than the screen. The API has all of them. */
const MAX_NAMES = 8

function shorten(values: readonly unknown[]): readonly unknown[] {
  const more = values.length - MAX_NAMES
  return more > 0 ? [...values.slice(0, MAX_NAMES), `and ${more} more`] : values
}

function isId(value: unknown): boolean {
  return typeof value === 'string' && isUuid(value)
}
