import type { Response } from 'express'

const markup = Symbol('markup')

/** Markup that is safe to send. Only `html` makes it, so text from anybody can get in escaped only. */
export type Html = { readonly [markup]: string; toString(): string }

/** What may stand in a template: text is escaped, `null`, `undefined` and `false` print nothing, lists are joined. */
export type Interpolation = Html | string | number | null | undefined | false | readonly Interpolation[]

/** A template whose interpolations are escaped for text and for quoted attribute values. Attributes must be quoted. */
export function html(strings: TemplateStringsArray, ...values: readonly Interpolation[]): Html {
  return toHtml(strings.reduce((before, string, index) => before + print(values[index - 1]) + string))
}

/**
 * Answers with a whole page and the headers that every page carries: nothing may be loaded from elsewhere, framed, cached,
 * indexed or named in a Referer (RFC 9700 section 4.16 asks this of login and error pages).
 * `scripts` also lets this host's own scripts run and call it: for pages with passkeys only.
 * Strict-Transport-Security goes out where the request came by https, as `trust proxy` tells (RFC 6797 section 7.2).
 */
export function sendPage(
  res: Response,
  status: number,
  page: Html,
  { scripts = false }: { readonly scripts?: boolean } = {},
): void {
  res.status(status).set({ ...HEADERS, 'Content-Security-Policy': policy(scripts) })
  if (res.req.secure) res.set('Strict-Transport-Security', 'max-age=31536000')
  // `end`, not `send`: a page that must not be stored needs no ETag.
  res.end(String(page))
}

const HEADERS = {
  'Content-Type': 'text/html; charset=utf-8',
  'X-Frame-Options': 'DENY',
  'Referrer-Policy': 'no-referrer',
  'Cache-Control': 'no-store',
  'X-Content-Type-Options': 'nosniff',
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'X-Robots-Tag': 'noindex',
}

const POLICY = [
  "default-src 'none'",
  "style-src 'self'",
  "img-src 'self'",
  "form-action 'self'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
]

function policy(scripts: boolean): string {
  return (scripts ? [...POLICY, "script-src 'self'", "connect-src 'self'"] : POLICY).join('; ')
}

function toHtml(text: string): Html {
  return { [markup]: text, toString: () => text }
}

function print(value: Interpolation): string {
  if (value === null || value === undefined || value === false) return ''
  if (isList(value)) return value.map(print).join('')
  return typeof value === 'object' ? value[markup] : escape(String(value))
}

// `Array.isArray` does not narrow a readonly array.
function isList(value: Interpolation): value is readonly Interpolation[] {
  return Array.isArray(value)
}

const ESCAPES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

function escape(text: string): string {
  return text.replace(/[&<>"']/g, (character) => ESCAPES[character] ?? '')
}
