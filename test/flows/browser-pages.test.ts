import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startAtOwnAddress } from '../support/own-address.ts'
import { ADA, startBrowserService } from '../support/pages/browser-service.ts'
import type { BrowserService } from '../support/pages/browser-service.ts'
import { linkOf } from '../support/mailbox.ts'
import { startOtherSite } from '../support/pages/other-site.ts'

const EMPTY_PAGE = '<!doctype html><title>evil</title><body></body>'
let fixture: BrowserService

beforeAll(async () => {
  fixture = await startBrowserService()
})
afterAll(() => fixture[Symbol.asyncDispose]())

describe('the link in the email, without JavaScript', () => {
  it('approves the login and signs the browser in', async () => {
    const { link, userCode, poll } = await fixture.startLogin()
    const page = await fixture.newPage({ javaScript: false })
    await page.goto(link)
    expect(await page.content()).toContain(userCode)
    expect(await poll()).toBe(428)
    await page.getByRole('button', { name: 'Approve' }).click()
    await page.getByRole('heading', { name: 'Approved' }).waitFor()
    expect(page.url()).not.toContain('token')
    expect(await poll()).toBe(200)
    await page.getByRole('link', { name: 'Your devices and keys' }).click()
    expect(await page.locator('.who').innerText()).toContain(ADA)
  })

  it('denies the login', async () => {
    const { link, poll } = await fixture.startLogin()
    const page = await fixture.newPage({ javaScript: false })
    await page.goto(link)
    await page.getByRole('button', { name: 'Deny' }).click()
    await page.getByRole('heading', { name: 'Denied' }).waitFor()
    expect(await poll()).toBe(403)
  })

  it('shows a page of success when it is opened again after the approval', async () => {
    const { link } = await fixture.startLogin()
    const page = await fixture.newPage({ javaScript: false })
    await page.goto(link)
    await page.getByRole('button', { name: 'Approve' }).click()
    await page.getByRole('heading', { name: 'Approved' }).waitFor()
    await page.goto(link)
    await page.getByRole('heading', { name: 'Already approved' }).waitFor()
  })
})

describe('the device page, without JavaScript', () => {
  it('approves a device by its code, signs it out, and signs out everywhere', async () => {
    const page = await fixture.signedInPage({ javaScript: false })
    const { userCode, poll } = await fixture.startLogin('by-code')
    await page.goto(`${fixture.baseUrl}/device?userCode=${userCode}`)
    await page.getByRole('button', { name: 'Continue' }).click()
    await page.getByRole('heading', { name: 'Approve this device?' }).waitFor()
    await page.getByRole('button', { name: 'Approve' }).click()
    await page.getByRole('status').filter({ hasText: 'Approved.' }).waitFor()
    expect(await poll()).toBe(200)

    await page.goto(`${fixture.baseUrl}/device`)
    const row = page.locator('.row').filter({ hasText: 'Ada’s laptop' }).first()
    await row.locator('summary').click()
    await row.getByRole('button', { name: 'Sign out this device' }).click()
    await page.getByRole('status').filter({ hasText: 'It is signed out' }).waitFor()

    await page.locator('summary', { hasText: 'Sign out everywhere…' }).click()
    await page.getByRole('button', { name: 'Sign out everywhere', exact: true }).click()
    await page.getByRole('heading', { name: 'Signed out everywhere' }).waitFor()
    await page.goto(`${fixture.baseUrl}/device`)
    await page.getByRole('heading', { name: 'Sign in to see your devices' }).waitFor()
  })
})

describe('a double click on a button of a form', () => {
  it.each([true, false])('creates one key and shows it; JavaScript: %s', async (javaScript) => {
    const page = await fixture.signedInPage({ javaScript })
    await page.goto(`${fixture.baseUrl}/device`)
    await page.getByLabel('Name of a new key').fill('Editor')
    await page.getByRole('button', { name: 'Create a key' }).dblclick()
    await page.getByRole('heading', { name: 'Your new key' }).waitFor()
    await page.getByRole('link', { name: 'API reference' }).click()
    await page.getByRole('heading', { name: 'With other SDKs and tools' }).waitFor()
    expect(new URL(page.url()).hash).toBe(`#${await page.locator('h3:target').getAttribute('id')}`)
  })
})

describe('a page of another origin', () => {
  it('cannot approve, deny, sign out, refresh or sign in by a form', async () => {
    const page = await fixture.signedInPage()
    const { userCode, link, poll } = await fixture.startLogin('forged')
    const token = new URL(link).searchParams.get('token') ?? ''
    await using evil = await startOtherSite(EMPTY_PAGE)
    const forms: [string, Record<string, string>][] = [
      ['/device', { action: 'approve', userCode }],
      ['/device', { action: 'sign-out-everywhere' }],
      ['/v1/auth/magic/consume', { token }],
      ['/v1/auth/logout', {}],
      ['/v1/auth/logout-everywhere', {}],
      ['/v1/auth/token/refresh', {}],
      ['/sign-in', { email: ADA }],
      ['/sign-in/email', { token: 'svci_x' }],
    ]
    for (const [path, fields] of forms) {
      await page.goto(evil.origin)
      const [response] = await Promise.all([
        page.waitForResponse((answer) => answer.url() === fixture.baseUrl + path),
        page.waitForURL(fixture.baseUrl + path),
        page.evaluate(submitForm, { action: fixture.baseUrl + path, fields }),
      ])
      expect([path, response.status()]).toEqual([path, 403])
      expect(await response.headerValue('set-cookie')).toBeNull()
    }
    expect(await poll()).toBe(428)
    await page.goto(`${fixture.baseUrl}/device`)
    expect(await page.locator('.who').innerText()).toContain(ADA)
  })

  it('cannot read an answer or frame a page', async () => {
    const page = await fixture.signedInPage()
    await using evil = await startOtherSite(EMPTY_PAGE)
    await page.goto(evil.origin)
    const read = await page.evaluate(
      async (url) =>
        fetch(url, { credentials: 'include' })
          .then((answer) => answer.text())
          .catch(() => 'refused'),
      `${fixture.baseUrl}/device`,
    )
    expect(read).toBe('refused')

    await page.evaluate((url) => {
      const frame = document.createElement('iframe')
      frame.src = url
      document.body.append(frame)
      return new Promise((resolve) => frame.addEventListener('load', resolve))
    }, `${fixture.baseUrl}/sign-in`)
    const framed = page.frames().find((frame) => frame !== page.mainFrame())
    expect(await framed?.locator('h1').count()).toBe(0)
  })
})

describe('an email scanner that opens the link', () => {
  it('approves nothing by running scripts and waiting', async () => {
    const { link, poll } = await fixture.startLogin('scanned')
    const page = await fixture.newPage()
    const posts: string[] = []
    page.on('request', (request) => request.method() === 'POST' && posts.push(request.url()))
    await page.clock.install()
    const answer = await page.goto(link, { waitUntil: 'networkidle' })
    // Fires timers that would act later.
    await page.clock.runFor(10_000)
    // The page allows no script and has nothing that navigates by itself.
    expect(await answer?.headerValue('content-security-policy')).toMatch(/^default-src 'none';(?!.*script-src)/)
    expect(await answer?.headerValue('refresh')).toBeNull()
    expect(await page.locator('script, iframe, object, embed, meta[http-equiv="refresh" i]').count()).toBe(0)
    await page.close()
    expect(posts).toEqual([])
    expect(await poll()).toBe(428)
  })

  it('approves nothing by pressing all buttons when approval needs the code', async () => {
    await using strict = await startAtOwnAddress({ SVC_APPROVAL_MODE: 'code' })
    const { deviceCode } = await strict.startLogin(ADA)
    const link = linkOf(strict.mailbox.newest(ADA)).href
    const page = await fixture.newPage()
    await page.goto(link)
    const buttons = await page.getByRole('button').all()
    expect(buttons).toHaveLength(2)
    for (const button of buttons) await button.click()
    // Also without the browser's validation of the fields.
    const [refused] = await Promise.all([
      page.waitForResponse((answer) => answer.request().method() === 'POST'),
      page.locator('form').first().evaluate(submitUnchecked),
    ])
    expect(refused.status()).toBe(400)
    const { response } = await strict.client.POST('/v1/auth/device/poll', { body: { deviceCode } })
    expect(response.status).toBe(428)
  })
})

/** Submits a form as a program does that fills in nothing and presses Approve. */
function submitUnchecked(form: HTMLElement | SVGElement): void {
  if (!(form instanceof HTMLFormElement)) throw new Error('The element is not a form.')
  form.noValidate = true
  form.querySelector('button')?.click()
}

function submitForm({ action, fields }: { action: string; fields: Record<string, string> }): void {
  const form = document.createElement('form')
  form.method = 'post'
  form.action = action
  for (const [name, value] of Object.entries(fields)) {
    const input = document.createElement('input')
    input.name = name
    input.value = value
    form.append(input)
  }
  document.body.append(form)
  form.submit()
}
