import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startBrowser } from '../support/browser.ts'
import type { TestBrowser, View } from '../support/browser.ts'
import { linkOf } from '../support/mailbox.ts'
import type { TestService } from '../support/service.ts'
import { addAuthenticator, startAtOwnAddress } from '../support/walk.ts'

const ADA = 'ada@example.com'
const VIEW = { width: 800, scheme: 'light' } as const

let browser: TestBrowser
let service: TestService
let base: string

beforeAll(async () => {
  ;[browser, service] = await Promise.all([startBrowser(), startAtOwnAddress()])
  base = service.config.baseUrl
})
afterAll(async () => {
  await browser[Symbol.asyncDispose]()
  await service[Symbol.asyncDispose]()
})

/** What does not come soon does not come. */
const PATIENCE_MS = 8000

async function openPage(view: View): Promise<Page> {
  const page = await browser.newPage(view)
  page.setDefaultTimeout(PATIENCE_MS)
  return page
}

/** A device that waits, and the link that was mailed for it. */
async function waiting(deviceId = 'laptop-1') {
  const login = await service.startLogin(ADA, { deviceId, deviceName: 'Ada’s laptop' })
  const link = linkOf(service.mailbox.newest(ADA)).href
  const poll = async () => {
    service.clock.advance({ seconds: 5 })
    const { response } = await service.client.POST('/v1/auth/device/poll', { body: { deviceCode: login.deviceCode } })
    return response.status
  }
  return { ...login, link, poll }
}

/** A browser that the mail signed in. */
async function signedIn(javaScript = true): Promise<Page> {
  const page = await openPage({ ...VIEW, javaScript })
  await page.goto((await waiting('browser')).link)
  await page.getByRole('button', { name: 'Approve' }).click()
  await page.getByRole('heading', { name: 'Approved' }).waitFor()
  return page
}

describe('the link in the mail, without JavaScript', () => {
  it('approves: the device is signed in, and so is the browser', async () => {
    const { link, userCode, poll } = await waiting()
    const page = await openPage({ ...VIEW, javaScript: false })
    await page.goto(link)
    expect(await page.content()).toContain(userCode)
    expect(await poll()).toBe(428)
    await page.getByRole('button', { name: 'Approve' }).click()
    await page.getByRole('heading', { name: 'Approved' }).waitFor()
    expect(page.url()).not.toContain('token')
    expect(await poll()).toBe(200)
    await page.getByRole('link', { name: 'Your devices and passkeys' }).click()
    expect(await page.locator('.who').innerText()).toContain(ADA)
  })

  it('denies', async () => {
    const { link, poll } = await waiting()
    const page = await openPage({ ...VIEW, javaScript: false })
    await page.goto(link)
    await page.getByRole('button', { name: 'Deny' }).click()
    await page.getByRole('heading', { name: 'Denied' }).waitFor()
    expect(await poll()).toBe(403)
  })

  it('calms whoever opens it again after approving', async () => {
    const { link } = await waiting()
    const page = await openPage({ ...VIEW, javaScript: false })
    await page.goto(link)
    await page.getByRole('button', { name: 'Approve' }).click()
    await page.getByRole('heading', { name: 'Approved' }).waitFor()
    await page.goto(link)
    await page.getByRole('heading', { name: 'All done: the device is signed in' }).waitFor()
  })
})

describe('the device page, without JavaScript', () => {
  it('approves a device by its code, signs it out, and signs out everywhere', async () => {
    const page = await signedIn(false)
    const { userCode, poll } = await waiting('by-code')
    await page.goto(`${base}/device?userCode=${userCode}`)
    await page.getByRole('button', { name: 'Continue' }).click()
    await page.getByRole('heading', { name: 'Approve this device?' }).waitFor()
    await page.getByRole('button', { name: 'Approve' }).click()
    await page.getByRole('status').filter({ hasText: 'Approved.' }).waitFor()
    expect(await poll()).toBe(200)

    await page.goto(`${base}/device`)
    const row = page.locator('.row').filter({ hasText: 'Ada’s laptop' }).first()
    await row.locator('summary').click()
    await row.getByRole('button', { name: 'Sign out this device' }).click()
    await page.getByRole('status').filter({ hasText: 'The device is signed out' }).waitFor()

    await page.locator('summary', { hasText: 'Sign out everywhere…' }).click()
    await page.getByRole('button', { name: 'Sign out everywhere', exact: true }).click()
    await page.getByRole('heading', { name: 'Signed out everywhere' }).waitFor()
    await page.goto(`${base}/device`)
    await page.getByRole('heading', { name: 'Sign in to see your devices' }).waitFor()
  })
})

describe('passkeys', () => {
  it('are added, offered by the browser itself, typed for, renamed and deleted', { timeout: 60_000 }, async () => {
    const page = await signedIn()
    const authenticator = await addAuthenticator(page)
    await page.goto(`${base}/device`)
    await page.getByLabel('Name of a new passkey').fill('Walk')
    await page.getByRole('button', { name: 'Add a passkey' }).click()
    await page.locator('.row').filter({ hasText: 'Walk' }).waitFor()
    expect(await authenticator.count()).toBe(1)

    // Conditional mediation: nobody presses anything.
    await page.getByRole('button', { name: 'Sign out here' }).click()
    await page.getByRole('heading', { name: 'Signed out' }).waitFor()
    await page.goto(`${base}/sign-in`)
    await page.waitForURL(`${base}/device`)
    expect(await page.locator('.row').filter({ hasText: 'signed in by passkey' }).count()).toBeGreaterThan(0)

    // By address and button, in a browser that offers nothing itself: its own offer would be taken before anybody presses a button.
    await page.getByRole('button', { name: 'Sign out here' }).click()
    await page.getByRole('heading', { name: 'Signed out' }).waitFor()
    await page.addInitScript(() => {
      PublicKeyCredential.isConditionalMediationAvailable = () => Promise.resolve(false)
      const signalAllAcceptedCredentials = (accepted: Told) => Promise.resolve(void (globalThis.told = accepted))
      Object.assign(PublicKeyCredential, { signalAllAcceptedCredentials })
    })
    await page.goto(`${base}/sign-in`)
    await page.getByLabel('Email address').fill(ADA)
    const started = page.waitForRequest((asked) => (asked.postData() ?? '').includes(ADA))
    await page.getByRole('button', { name: 'Sign in with a passkey' }).click()
    await started
    await page.waitForURL(`${base}/device`)

    const row = () => page.locator('.row').filter({ hasText: 'Last used' }).first()
    await row().locator('summary').click()
    await row().getByLabel('Name').fill('Renamed')
    await row().getByRole('button', { name: 'Rename' }).click()
    await page.getByRole('status').filter({ hasText: 'new name' }).waitFor()
    await page.locator('.row').filter({ hasText: 'Renamed' }).locator('summary').click()
    expect(await toldCredentials(page)).toHaveLength(1)
    await page.getByRole('button', { name: 'Delete this passkey' }).click()
    await page.getByRole('status').filter({ hasText: 'is deleted' }).waitFor()
    // The password manager hears that the passkey is gone, and whose and where it was.
    expect(await toldCredentials(page)).toEqual([])
    expect(await page.evaluate(() => globalThis.told?.rpId)).toBe('localhost')
    expect(await page.evaluate(() => globalThis.told?.userId)).toMatch(/^[\w-]{22}$/)

    // The authenticator still has it; the service does not take it any more.
    await page.getByRole('button', { name: 'Sign out here' }).click()
    await page.getByRole('heading', { name: 'Signed out' }).waitFor()
    await page.goto(`${base}/sign-in`)
    await page.getByRole('button', { name: 'Sign in with a passkey' }).click()
    await page.getByText('This passkey did not sign you in').waitFor()
    // The service does not say why, and a passkey that only waited too long must not be forgotten.
    expect(await page.evaluate(() => globalThis.told)).toBeUndefined()
  })

  it('sign in by the button while the browser’s own offer waits, which is withdrawn first', async () => {
    const page = await signedIn()
    const authenticator = await addAuthenticator(page)
    await page.goto(`${base}/device`)
    await page.getByLabel('Name of a new passkey').fill('Pressed')
    await page.getByRole('button', { name: 'Add a passkey' }).click()
    await page.locator('.row').filter({ hasText: 'Pressed' }).waitFor()
    await page.getByRole('button', { name: 'Sign out here' }).click()
    await page.getByRole('heading', { name: 'Signed out' }).waitFor()

    const ceremonies = await watchCeremonies(page)
    await authenticator.lookAt(false)
    await page.goto(`${base}/sign-in`)
    await expect.poll(() => ceremonies, { timeout: PATIENCE_MS }).toEqual(['conditional asked'])
    await authenticator.lookAt(true)
    await page.getByRole('button', { name: 'Sign in with a passkey' }).click()
    await page.waitForURL(`${base}/device`)
    expect(ceremonies).toHaveLength(4)
    expect(ceremonies).toEqual(
      expect.arrayContaining(['conditional asked', 'conditional AbortError', 'button asked', 'button answered']),
    )
  })

  it('sign in on the waiting page, which then lets the same person decide', async () => {
    const page = await signedIn()
    await addAuthenticator(page)
    await page.goto(`${base}/device`)
    await page.getByRole('button', { name: 'Add a passkey' }).click()
    await page.locator('.row').filter({ hasText: 'Passkey of' }).waitFor()
    await page.getByRole('button', { name: 'Sign out here' }).click()

    const { verificationUri, poll } = await waiting('waits')
    await page.goto(verificationUri)
    await page.getByRole('button', { name: 'Sign in with a passkey' }).click()
    await page.getByRole('button', { name: 'Approve' }).click()
    await page.getByRole('heading', { name: 'Approved' }).waitFor()
    expect(await poll()).toBe(200)
  })

  it('want a fresh sign-in, and say so', async () => {
    const page = await signedIn()
    await addAuthenticator(page)
    service.clock.advance({ seconds: 901 })
    await page.goto(`${base}/device`)
    await page.getByRole('button', { name: 'Add a passkey' }).click()
    await page.getByText('This needs a fresh sign-in').first().waitFor()
  })
})

describe('a page of another site', () => {
  it('cannot approve, deny, sign out, refresh or sign its visitor in', { timeout: 60_000 }, async () => {
    const page = await signedIn()
    const { userCode, link, poll } = await waiting('forged')
    const token = new URL(link).searchParams.get('token') ?? ''
    await using evil = await startEvilSite()
    const forms: [string, Record<string, string>][] = [
      ['/device', { action: 'approve', userCode }],
      ['/device', { action: 'sign-out-everywhere' }],
      ['/v1/auth/magic/consume', { token }],
      ['/v1/auth/logout', {}],
      ['/v1/auth/logout-everywhere', {}],
      ['/v1/auth/token/refresh', {}],
    ]
    for (const [path, fields] of forms) {
      await page.goto(evil.url)
      const [response] = await Promise.all([
        page.waitForResponse((answer) => answer.url() === base + path),
        page.waitForURL(base + path),
        page.evaluate(submitForm, { action: base + path, fields }),
      ])
      expect([path, response.status()]).toEqual([path, 403])
      expect(await response.headerValue('set-cookie')).toBeNull()
    }
    expect(await poll()).toBe(428)
    await page.goto(`${base}/device`)
    expect(await page.locator('.who').innerText()).toContain(ADA)
  })

  it('cannot read anything, and cannot frame a page', async () => {
    const page = await signedIn()
    await using evil = await startEvilSite()
    await page.goto(evil.url)
    const read = await page.evaluate(
      async (url) =>
        fetch(url, { credentials: 'include' })
          .then((answer) => answer.text())
          .catch(() => 'refused'),
      `${base}/device`,
    )
    expect(read).toBe('refused')

    await page.evaluate((url) => {
      const frame = document.createElement('iframe')
      frame.src = url
      document.body.append(frame)
      return new Promise((resolve) => frame.addEventListener('load', resolve))
    }, `${base}/sign-in`)
    const framed = page.frames().find((frame) => frame !== page.mainFrame())
    expect(await framed?.locator('h1').count()).toBe(0)
  })
})

describe('a scanner that opens the link', () => {
  it('runs scripts and waits, and nothing is approved', { timeout: 60_000 }, async () => {
    const { link, poll } = await waiting('scanned')
    const page = await openPage(VIEW)
    const posts: string[] = []
    page.on('request', (request) => request.method() === 'POST' && posts.push(request.url()))
    await page.clock.install()
    const answer = await page.goto(link, { waitUntil: 'networkidle' })
    // Whatever would go off by itself, later.
    await page.clock.runFor(10_000)
    // And nothing on the page can: no script may run on it, and it goes nowhere by itself.
    expect(await answer?.headerValue('content-security-policy')).toMatch(/^default-src 'none';(?!.*script-src)/)
    expect(await answer?.headerValue('refresh')).toBeNull()
    expect(await page.locator('script, iframe, object, embed, meta[http-equiv="refresh" i]').count()).toBe(0)
    await page.close()
    expect(posts).toEqual([])
    expect(await poll()).toBe(428)
  })

  it('with approval by code presses every button, and nothing is approved', { timeout: 60_000 }, async () => {
    await using strict = await startAtOwnAddress({ SVC_APPROVAL_MODE: 'code' })
    const { deviceCode } = await strict.startLogin(ADA)
    const link = linkOf(strict.mailbox.newest(ADA)).href
    const page = await openPage(VIEW)
    await page.goto(link)
    const buttons = await page.getByRole('button').all()
    expect(buttons).toHaveLength(2)
    for (const button of buttons) await button.click()
    // Past the browser's own check of the fields too.
    const [refused] = await Promise.all([
      page.waitForResponse((answer) => answer.request().method() === 'POST'),
      page.locator('form').first().evaluate(submitUnchecked),
    ])
    expect(refused.status()).toBe(400)
    const { response } = await strict.client.POST('/v1/auth/device/poll', { body: { deviceCode } })
    expect(response.status).toBe(428)
  })
})

/** What a page says of an account's passkeys. */
type Told = { readonly rpId: string; readonly userId: string; readonly allAcceptedCredentialIds: string[] }

declare global {
  var told: Told | undefined
}

function toldCredentials(page: Page): Promise<string[] | undefined> {
  return page.evaluate(() => globalThis.told?.allAcceptedCredentialIds)
}

/** What the page's next documents ask of the authenticator, and how each of it ends, as it happens. */
async function watchCeremonies(page: Page): Promise<string[]> {
  const seen: string[] = []
  await page.exposeFunction('noteCeremony', (line: string) => void seen.push(line))
  await page.addInitScript(() => {
    const note = (line: string) => (globalThis as unknown as { noteCeremony(line: string): void }).noteCeremony(line)
    const get = navigator.credentials.get.bind(navigator.credentials)
    navigator.credentials.get = (options) => {
      const name = options?.mediation ?? 'button'
      note(`${name} asked`)
      const answer = get(options)
      answer.then(
        () => note(`${name} answered`),
        (error: unknown) => note(`${name} ${error instanceof Error ? error.name : 'failed'}`),
      )
      return answer
    }
  })
  return seen
}

/** As a program does that fills in nothing and presses Approve. */
function submitUnchecked(form: HTMLElement | SVGElement): void {
  if (!(form instanceof HTMLFormElement)) throw new Error('not a form')
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

/** An empty page at another address. */
async function startEvilSite(): Promise<AsyncDisposable & { readonly url: string }> {
  const server = createServer((_req, res) => {
    res.setHeader('content-type', 'text/html')
    res.end('<!doctype html><title>evil</title><body></body>')
  }).listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    [Symbol.asyncDispose]: () => new Promise((resolve) => server.close(() => resolve()).closeAllConnections()),
  }
}
