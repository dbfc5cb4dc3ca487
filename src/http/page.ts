import type { Request, Response } from 'express'
import { isLoopback } from '../kernel/network/ip-address.ts'

const markup = Symbol('markup')
const loadsScripts = Symbol('loadsScripts')

/** Markup that is safe to send. Only `html` creates it, and `html` escapes all text. */
export type Html = { readonly [markup]: string; readonly [loadsScripts]?: true; toString(): string }

/** A template value: text is escaped; `null`, `undefined` and `false` print nothing; lists are joined. */
export type Interpolation = Html | string | number | null | undefined | false | readonly Interpolation[]

/** Fills a template. Values are escaped for text and for quoted attributes, so attributes must be quoted. */
export function html(strings: TemplateStringsArray, ...values: readonly Interpolation[]): Html {
  return toHtml(strings.reduce((before, string, index) => before + print(values[index - 1]) + string))
}

/** Marks a page that loads scripts of this host, so that it is sent with a policy that lets them run. */
export function withScripts(page: Html): Html {
  return { ...page, [loadsScripts]: true }
}

/** What an answer needs to carry a page. Answers of operations have it, whatever the contract says of their bodies. */
export type PageReply = Pick<Response, 'req' | 'statusCode' | 'set' | 'end'>

/**
 * Answers with a page and the headers of every page. They forbid to load anything from other hosts, to frame, cache or
 * index the page, and to name it in a Referer, as RFC 9700, section 4.16 requires for login and error pages.
 * Strict-Transport-Security is sent over https (RFC 6797, section 7.2).
 */
export function sendPage(res: PageReply, status: number, page: Html | Buffer): void {
  const scripts = !Buffer.isBuffer(page) && page[loadsScripts] === true
  res.statusCode = status
  const referrerPolicy = referrerPolicyOf(res.req)
  res.set({ ...HEADERS, 'Referrer-Policy': referrerPolicy, 'Content-Security-Policy': policy(scripts) })
  if (res.req.secure) res.set('Strict-Transport-Security', 'max-age=31536000')
  // `end` instead of `send`: a page that must not be stored needs no ETag.
  res.end(Buffer.isBuffer(page) ? page : String(page))
}

/**
 * Answers with a page of any status, with the headers that the contract promises for an error of this status whatever
 * its body is.
 */
export function sendOutcomePage(res: PageReply, status: number, page: Html): void {
  if (status === 401) res.set('WWW-Authenticate', 'Bearer')
  if (status === 401 || status === 403) res.set('x-should-retry', 'false')
  sendPage(res, status, page)
}

const HEADERS = {
  'Content-Type': 'text/html; charset=utf-8',
  'X-Frame-Options': 'DENY',
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

/**
 * With `no-referrer`, browsers send forms with the origin `null` (Fetch, section 3.2). That the page is ours is then in
 * `Sec-Fetch-Site`, which they send to https addresses and to this machine only (Fetch Metadata, section 3). Elsewhere
 * the forms need their origin, which this policy also gives as the Referer, without path and query.
 */
function referrerPolicyOf({ secure, hostname }: Request): string {
  return secure || isLoopback(hostname) ? 'no-referrer' : 'strict-origin'
}

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

// `Array.isArray` does not narrow to a readonly array.
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
