import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import express from 'express'
import { describe, expect, it } from 'vitest'
import { errorPage } from '../../src/control/pages/error-page.ts'
import { html, sendPage, withScripts } from '../../src/http/page.ts'
import type { Interpolation } from '../../src/http/page.ts'

describe('html', () => {
  const cases: [promise: string, value: Interpolation, printed: string][] = [
    ['escapes markup', '<img src=x onerror="a()">', '&lt;img src=x onerror=&quot;a()&quot;&gt;'],
    ['escapes what ends an attribute, in either quotes', `"'`, '&quot;&#39;'],
    ['escapes an ampersand once', '&amp;', '&amp;amp;'],
    ['leaves other characters alone', 'Ada’s {{7*7}} ${x} `é`', 'Ada’s {{7*7}} ${x} `é`'],
    ['prints numbers, zero too', 0, '0'],
    ['prints nothing for null', null, ''],
    ['prints nothing for undefined', undefined, ''],
    ['prints nothing for false', false, ''],
    ['passes markup of its own', html`<b>${'<'}</b>`, '<b>&lt;</b>'],
    ['joins lists and escapes their texts', ['<', html`<i></i>`, [null, 1]], '&lt;<i></i>1'],
  ]
  it.each(cases)('%s', (_promise, value, printed) => {
    expect(String(html`<p title="${value}">${value}</p>`)).toBe(`<p title="${printed}">${printed}</p>`)
  })

  it('does not take an object that only looks like markup for markup', () => {
    const forged: unknown = JSON.parse('{"markup":"<b>","toString":"<b>"}')
    // A cast, because the types refuse it: a body that went round them must fail, not print.
    expect(String(html`${forged as Interpolation}`)).not.toContain('<b>')
  })
})

describe('sendPage', () => {
  const POLICY =
    "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"

  it.each([200, 401, 404, 410, 500])('sends every page header with status %i', async (status) => {
    const answer = await answerOf((res) => sendPage(res, status, html`<p>ä</p>`))

    expect(answer.status).toBe(status)
    expect(await answer.text()).toBe('<p>ä</p>')
    expect(Object.fromEntries(answer.headers)).toMatchObject({
      'content-type': 'text/html; charset=utf-8',
      'content-security-policy': POLICY,
      'x-frame-options': 'DENY',
      'referrer-policy': 'no-referrer',
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
      'cross-origin-opener-policy': 'same-origin',
      'cross-origin-resource-policy': 'same-origin',
      'x-robots-tag': 'noindex',
    })
  })

  it('lets scripts of this host run only on a page that asks for them', async () => {
    const answer = await answerOf((res) => sendPage(res, 200, withScripts(html``)))

    expect(answer.headers.get('content-security-policy')).toBe(`${POLICY}; script-src 'self'; connect-src 'self'`)
  })

  it('asks browsers for https from then on only where the request came by https', async () => {
    const plain = await answerOf((res) => sendPage(res, 200, html``))
    const secure = await answerOf((res) => sendPage(res, 200, html``), { 'X-Forwarded-Proto': 'https' })

    expect(plain.headers.get('strict-transport-security')).toBeNull()
    expect(secure.headers.get('strict-transport-security')).toBe('max-age=31536000')
  })

  it.each([
    ['an https address', { 'X-Forwarded-Proto': 'https', 'X-Forwarded-Host': 'svc.example.com' }, 'no-referrer'],
    ['this machine', { 'X-Forwarded-Host': 'localhost:8787' }, 'no-referrer'],
    ['an http address, whose forms need their origin', { 'X-Forwarded-Host': 'svc.example.com' }, 'strict-origin'],
  ])('keeps the address of a page out of the Referer at %s', async (_, headers, policy) => {
    const answer = await answerOf((res) => sendPage(res, 200, html``), headers)

    expect(answer.headers.get('referrer-policy')).toBe(policy)
  })

  it('answers HEAD with the same headers and no body', async () => {
    const answer = await answerOf((res) => sendPage(res, 200, html`<p></p>`), {}, 'HEAD')

    expect(answer.headers.get('content-security-policy')).toBe(POLICY)
    expect(await answer.text()).toBe('')
  })
})

/** What a client gets from one Express handler, behind a proxy that is trusted. */
async function answerOf(handle: (res: express.Response) => void, headers: Record<string, string> = {}, method = 'GET') {
  const app = express().set('trust proxy', 'loopback')
  app.get('/', (_req, res) => handle(res))
  await using server = createServer(app)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  // The address of a listening TCP server is never a string or null.
  const { port } = server.address() as AddressInfo
  const answer = await fetch(`http://127.0.0.1:${port}/`, { method, headers: { ...headers, connection: 'close' } })
  return new Response(method === 'HEAD' ? null : await answer.text(), answer)
}

it.each([
  [1, '1 second'],
  [89, '89 seconds'],
  [90, '2 minutes'],
  [600, '10 minutes'],
])('the page of an error says to wait for %i seconds as %s', (retryAfterSeconds, wait) => {
  const page = errorPage({ status: 429, requestId: 'req_1', retryAfterSeconds })
  expect(String(page)).toContain(`Try again in ${wait}.`)
})
