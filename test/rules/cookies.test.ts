import { describe, expect, it } from 'vitest'
import { clearCookies, readCookies, setCookie } from '../../src/http/cookies.ts'
import type { CookieReply } from '../../src/http/cookies.ts'
import { Secret } from '../../src/kernel/secret.ts'

describe('readCookies', () => {
  it.each<[string, string | undefined, boolean, object]>([
    ['nothing', undefined, false, {}],
    ['ours among others', 'a=1; svc_session=s; b=2', false, { svc_session: 's' }],
    ['no space between', 'svc_session=s;svc_access=t', false, { svc_session: 's', svc_access: 't' }],
    ['a value with =', 'svc_session=a=b==', false, { svc_session: 'a=b==' }],
    ['an empty one', 'svc_session=', false, {}],
    ['one without =', 'svc_session', false, {}],
    ['one that came twice', 'svc_refresh=a; svc_refresh=b', false, {}],
    ['one that came twice with one value', 'svc_refresh=a; svc_refresh=a', false, {}],
    ['one that came twice, once empty', 'svc_refresh=a; svc_refresh=', false, {}],
    ['the names of https over http', '__Host-svc_session=s', false, {}],
    [
      'the names of https',
      '__Host-svc_session=s; __Host-svc_access=t; svc_refresh=r',
      true,
      { svc_session: 's', svc_access: 't', svc_refresh: 'r' },
    ],
    ['the names of http over https, which a sibling host can plant', 'svc_session=s; svc_access=t', true, {}],
    ['names in other letters', 'SVC_SESSION=s', false, {}],
    ['__proto__', '__proto__=x; svc_session=s', false, { svc_session: 's' }],
  ])('%s', (_, header, secure, found) => {
    expect(readCookies(header, secure)).toEqual(found)
  })

  it('takes a header full of semicolons', () => {
    expect(readCookies(';'.repeat(16_000), false)).toEqual({})
  })
})

describe('setCookie and clearCookies', () => {
  const recorded = (secure: boolean) => {
    const calls: unknown[][] = []
    const reply = {
      req: { secureCookies: secure },
      cookie: (...given: unknown[]) => calls.push(['set', ...given]),
      clearCookie: (...given: unknown[]) => calls.push(['clear', ...given]),
    } as unknown as CookieReply
    for (const name of ['svc_session', 'svc_access', 'svc_refresh'] as const)
      setCookie(reply, name, new Secret('value'), 60)
    clearCookies(reply)
    return calls
  }

  it.each([
    [false, ['svc_session', 'svc_access', 'svc_refresh']],
    [true, ['__Host-svc_session', '__Host-svc_access', 'svc_refresh']],
  ])('secure %s: clears each cookie under the name and path that it was set with', (secure, names) => {
    const attributes = [
      { path: '/', sameSite: 'lax', secure, httpOnly: true },
      { path: '/', sameSite: 'strict', secure, httpOnly: true },
      { path: '/v1/auth', sameSite: 'strict', secure, httpOnly: true },
    ]
    expect(recorded(secure)).toEqual([
      ...names.map((name, index) => ['set', name, 'value', { ...attributes[index], encode: String, maxAge: 60_000 }]),
      ...names.map((name, index) => ['clear', name, attributes[index]]),
    ])
  })
})
