import type { Request, Response } from 'express'
import type { Secret } from '../kernel/secret.ts'

/**
 * The cookies of this service. Over https the first two carry the `__Host-` prefix, which ties them to this host and path; over
 * http (loopback) the prefix and `Secure` are left out, because ordinary cookie jars do not send such cookies there.
 */
const COOKIES = {
  /** Lax: the person arrives from web mail, by a link of another site. */
  svc_session: { path: '/', sameSite: 'lax', hostPrefix: true },
  svc_access: { path: '/', sameSite: 'strict', hostPrefix: true },
  svc_refresh: { path: '/v1/auth', sameSite: 'strict', hostPrefix: false },
} as const

export type CookieName = keyof typeof COOKIES
const NAMES: readonly CookieName[] = ['svc_session', 'svc_access', 'svc_refresh']

/**
 * Our cookies of a `Cookie` header by their plain names. A name that comes twice is left out: a sibling host can
 * plant a second one, and nobody can tell which is ours.
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

/** One of our cookies; undefined when it is missing or came twice. */
export function cookieOf(req: Pick<Request, 'cookies'>, name: CookieName): string | undefined {
  // Express leaves the type of cookies open; `readCookies` made these.
  return (req.cookies as Partial<Record<CookieName, string>> | undefined)?.[name]
}

/** Sets a cookie for so many seconds. */
export function setCookie(
  res: CookieReply,
  name: CookieName,
  value: Secret,
  maxAgeSeconds: number,
  secure: boolean,
): void {
  res.cookie(sentName(name, secure), value.reveal(), { ...attributes(name, secure), maxAge: maxAgeSeconds * 1000 })
}

/** Clears every cookie of this service, each with the path that it was set with. */
export function clearCookies(res: CookieReply, secure: boolean): void {
  for (const name of NAMES) res.clearCookie(sentName(name, secure), attributes(name, secure))
}

export type CookieReply = Pick<Response, 'cookie' | 'clearCookie'>

function attributes(name: CookieName, secure: boolean) {
  const { path, sameSite } = COOKIES[name]
  return { path, sameSite, secure, httpOnly: true }
}

function sentName(name: CookieName, secure: boolean): string {
  return secure && COOKIES[name].hostPrefix ? `__Host-${name}` : name
}
