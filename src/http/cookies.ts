import type { Request, Response } from 'express'
import type { Secret } from '../kernel/secret.ts'

/**
 * The cookies of this service. Over https the first two have the `__Host-` prefix, which binds them to this host. Over
 * http (loopback) prefix and `Secure` are left out, because common cookie jars do not send such cookies over http.
 */
const COOKIES = {
  /** Lax, because people arrive by a link in their webmail, which is another site. */
  svc_session: { path: '/', sameSite: 'lax', hostPrefix: true },
  svc_access: { path: '/', sameSite: 'strict', hostPrefix: true },
  svc_refresh: { path: '/v1/auth', sameSite: 'strict', hostPrefix: false },
  /** The page that follows, while a person signs in by email. Lax, for the same reason as the first. */
  svc_next: { path: '/sign-in', sameSite: 'lax', hostPrefix: false },
} as const

export type CookieName = keyof typeof COOKIES
const TOKENS: readonly CookieName[] = ['svc_access', 'svc_refresh']
const CREDENTIALS: readonly CookieName[] = ['svc_session', ...TOKENS]
const NAMES: readonly CookieName[] = [...CREDENTIALS, 'svc_next']

/**
 * Reads the cookies of this service from a `Cookie` header, by name without prefix. A cookie that occurs twice is
 * ignored: a sibling host can set a second one, and the two cannot be told apart.
 */
export function readCookies(header: string | undefined, secure: boolean): Partial<Record<CookieName, string>> {
  if (header === undefined) return {}
  const pairs = header.split(';').map((pair) => {
    const [name = '', ...value] = pair.split('=')
    return { name: name.trim(), value: value.join('=').trim() }
  })
  const found = NAMES.map((name) => {
    const same = pairs.filter((pair) => pair.name === sentName(name, secure))
    return [name, same.length === 1 ? same[0]?.value : undefined] as const
  })
  return Object.fromEntries(found.filter(([, value]) => value))
}

/** The value of a cookie; undefined when it is missing or occurs twice. */
export function cookieOf(req: Pick<Request, 'cookies'>, name: CookieName): string | undefined {
  // Express does not type cookies; `readCookies` made them.
  return (req.cookies as Partial<Record<CookieName, string>> | undefined)?.[name]
}

/** Sets a cookie that expires after `maxAgeSeconds`. Its value is sent as it is: only `cookie-octet`s (RFC 6265). */
export function setCookie(res: CookieReply, name: CookieName, value: Secret, maxAgeSeconds: number): void {
  const { secureCookies } = res.req
  res.cookie(sentName(name, secureCookies), value.reveal(), {
    ...attributes(name, secureCookies),
    encode: String,
    maxAge: maxAgeSeconds * 1000,
  })
}

/** Clears every cookie that signs a browser in. */
export function clearCookies(res: CookieReply): void {
  for (const name of CREDENTIALS) clearCookie(res, name)
}

/** Clears the cookies that carry tokens, where the request was signed in to another account than this one. */
export function clearTokensOfOthers({ caller }: Pick<Request, 'caller'>, res: CookieReply, accountId: string): void {
  if (caller === undefined || caller.accountId === accountId) return
  for (const name of TOKENS) clearCookie(res, name)
}

/** Clears a cookie. Browsers do that only for the path that it was set with. */
export function clearCookie(res: CookieReply, name: CookieName): void {
  const { secureCookies } = res.req
  res.clearCookie(sentName(name, secureCookies), attributes(name, secureCookies))
}

export type CookieReply = Pick<Response, 'cookie' | 'clearCookie'> & { readonly req: Pick<Request, 'secureCookies'> }

function attributes(name: CookieName, secure: boolean) {
  const { path, sameSite } = COOKIES[name]
  return { path, sameSite, secure, httpOnly: true }
}

function sentName(name: CookieName, secure: boolean): string {
  return secure && COOKIES[name].hostPrefix ? `__Host-${name}` : name
}
