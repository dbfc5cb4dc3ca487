import type { Locator, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { answerFirst } from '../support/pages/answer-first.ts'
import { startBrowserService } from '../support/pages/browser-service.ts'
import type { BrowserService } from '../support/pages/browser-service.ts'
import { addAuthenticator } from '../support/pages/virtual-authenticator.ts'
import { waitForValue } from '../support/wait.ts'

let fixture: BrowserService

beforeAll(async () => {
  fixture = await startBrowserService()
})
afterAll(() => fixture[Symbol.asyncDispose]())

async function addPasskey(page: Page, name: string): Promise<void> {
  await page.goto(`${fixture.baseUrl}/device`)
  await page.getByLabel('Name of a new passkey').fill(name)
  await page.getByRole('button', { name: 'Add a passkey' }).click()
  await page.locator('.row-name').filter({ hasText: name }).waitFor()
}

/** Opens a page in a new profile that is not signed in and has a passkey of Ada. */
async function openWithPasskey(name: string) {
  const page = await fixture.signedInPage()
  const authenticator = await addAuthenticator(page)
  await addPasskey(page, name)
  await page.context().clearCookies()
  return { page, authenticator }
}

/** Offers no passkey in the email field of the page's next documents: the offer would be accepted at once. */
async function withoutAutofill(page: Page): Promise<void> {
  await page.addInitScript(() => {
    PublicKeyCredential.isConditionalMediationAvailable = () => Promise.resolve(false)
  })
}

/** The rows of the passkeys on the device page. */
function passkeysOf(page: Page): Locator {
  return page.getByRole('region', { name: /Passkeys/ }).locator('.row')
}

async function signOut(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Sign out here' }).click()
  await page.getByRole('heading', { name: 'Signed out' }).waitFor()
}

describe('passkeys in a browser', () => {
  it('are added, and sign in by autofill and by button', async () => {
    const page = await fixture.signedInPage()
    const authenticator = await addAuthenticator(page)
    await addPasskey(page, 'Laptop key')
    expect(await authenticator.count()).toBe(1)

    // Conditional mediation: the browser offers the passkey without a press of a button.
    await signOut(page)
    await page.goto(`${fixture.baseUrl}/sign-in`)
    await page.waitForURL(`${fixture.baseUrl}/device`)
    expect(await page.locator('.row').filter({ hasText: 'signed in by passkey' }).count()).toBeGreaterThan(0)

    await signOut(page)
    await withoutAutofill(page)
    await page.goto(`${fixture.baseUrl}/sign-in`)
    await page.getByRole('button', { name: 'Sign in with a passkey' }).click()
    await page.waitForURL(`${fixture.baseUrl}/device`)
  })

  it('are renamed and deleted, and do not sign in any more', async () => {
    const page = await fixture.signedInPage()
    await addAuthenticator(page)
    await withoutAutofill(page)
    await page.addInitScript(() => {
      const signalAllAcceptedCredentials = (accepted: SignalledCredentials) =>
        Promise.resolve(void (globalThis.signalled = accepted))
      Object.assign(PublicKeyCredential, { signalAllAcceptedCredentials })
    })
    await addPasskey(page, 'Old key')

    const row = (name: string) => passkeysOf(page).filter({ hasText: name })
    await row('Old key').locator('summary').click()
    await row('Old key').getByLabel('Name').fill('Renamed')
    await row('Old key').getByRole('button', { name: 'Rename' }).click()
    await page.getByRole('status').filter({ hasText: 'new name' }).waitFor()
    const before = await signalledCredentials(page)
    await row('Renamed').locator('summary').click()
    await row('Renamed').getByRole('button', { name: 'Delete this passkey' }).click()
    await page.getByRole('status').filter({ hasText: 'is deleted' }).waitFor()
    // The page signals to the password manager which passkeys of the account are left (WebAuthn,
    // signalAllAcceptedCredentials).
    expect(before?.length).toBeGreaterThan(0)
    expect(await signalledCredentials(page)).toHaveLength((before?.length ?? 0) - 1)
    expect(await page.evaluate(() => globalThis.signalled?.rpId)).toBe('localhost')
    expect(await page.evaluate(() => globalThis.signalled?.userId)).toMatch(/^[\w-]{22}$/)

    // The authenticator still has the passkey; the service refuses it.
    await signOut(page)
    await page.goto(`${fixture.baseUrl}/sign-in`)
    await page.getByRole('button', { name: 'Sign in with a passkey' }).click()
    await page.getByText('This passkey did not sign you in').waitFor()
    // The refusal has no reason, so the page must not signal that the passkey is gone.
    expect(await page.evaluate(() => globalThis.signalled)).toBeUndefined()
  })

  it('leave no tokens in a browser that is signed out by a page whose session is over', async () => {
    const page = await fixture.signedInPage()
    await addAuthenticator(page)
    await addPasskey(page, 'Shared computer')
    await signOut(page)
    await page.goto(`${fixture.baseUrl}/sign-in`)
    await page.waitForURL(`${fixture.baseUrl}/device`)
    const refreshes = () =>
      page.evaluate(async () => {
        const headers = { 'x-svc-use-cookies': 'true' }
        return (await fetch('/v1/auth/token/refresh', { method: 'POST', headers })).status
      })
    expect(await refreshes()).toBe(200)

    fixture.service.clock.advance({ seconds: 9 * 3600 })
    await signOut(page)
    await page.goto(`${fixture.baseUrl}/session`)
    expect(await refreshes()).toBe(401)
  })

  it('sign in by the button while the autofill offer waits, which is aborted first', async () => {
    const { page, authenticator } = await openWithPasskey('Pressed')
    const ceremonies = await recordCeremonies(page)
    await authenticator.setPresence(false)
    await page.goto(`${fixture.baseUrl}/sign-in`)
    await waitForValue('the autofill offer', () => ceremonies, ['conditional asked'])
    await authenticator.setPresence(true)
    await page.getByRole('button', { name: 'Sign in with a passkey' }).click()
    await page.waitForURL(`${fixture.baseUrl}/device`)
    expect(ceremonies).toHaveLength(4)
    expect(ceremonies).toEqual(
      expect.arrayContaining(['conditional asked', 'conditional AbortError', 'button asked', 'button answered']),
    )
  })

  it('sign in by the button that was pressed before the autofill offer was ready, which then does not begin', async () => {
    const { page, authenticator } = await openWithPasskey('Early')
    const ceremonies = await recordCeremonies(page)
    await authenticator.setPresence(false)
    const start = '**/v1/auth/passkeys/login/start'
    const [held, offered] = [Promise.withResolvers<undefined>(), Promise.withResolvers<undefined>()]
    await answerFirst(page, start, async (route) => {
      offered.resolve(undefined)
      await held.promise
      await route.continue()
    })
    await page.goto(`${fixture.baseUrl}/sign-in`)
    await offered.promise
    await page.getByRole('button', { name: 'Sign in with a passkey' }).click()
    await waitForValue('the ceremony of the button', () => ceremonies, ['button asked'])
    const answered = page.waitForResponse(start)
    held.resolve(undefined)
    await (await answered).finished()
    // Time for an offer, which should not come.
    await page.evaluate(() => new Promise((resolve) => setTimeout(resolve, 300)))
    expect(ceremonies).toEqual(['button asked'])
  })

  it('are offered in the email field again after a sign-in that failed', async () => {
    const { page } = await openWithPasskey('Again')
    const ceremonies = await recordCeremonies(page)
    await answerFirst(page, '**/v1/auth/passkeys/login/finish', (route) => route.abort())
    await page.goto(`${fixture.baseUrl}/sign-in`)
    const once = ['conditional asked', 'conditional answered']
    await waitForValue('the second offer', () => ceremonies, [...once, ...once])
    await page.waitForURL(`${fixture.baseUrl}/device`)
  })

  it('are offered in the email field after a wait when the service gave no challenge', async () => {
    const { page } = await openWithPasskey('Later')
    const error = { code: 'service_unavailable', message: 'Not available.' }
    const unavailable = { status: 503, headers: { 'Retry-After': '1' }, json: { error } }
    await answerFirst(page, '**/v1/auth/passkeys/login/start', (route) => route.fulfill(unavailable))
    await page.goto(`${fixture.baseUrl}/sign-in`)
    await page.waitForURL(`${fixture.baseUrl}/device`)
  })

  it('sign in on the waiting page, which then offers Approve', async () => {
    const page = await fixture.signedInPage()
    await addAuthenticator(page)
    await page.goto(`${fixture.baseUrl}/device`)
    await page.getByRole('button', { name: 'Add a passkey' }).click()
    await passkeysOf(page).filter({ hasText: 'Passkey of' }).waitFor()
    await page.getByRole('button', { name: 'Sign out here' }).click()

    const { verificationUri, poll } = await fixture.startLogin('waits')
    await page.goto(verificationUri)
    await page.getByRole('button', { name: 'Sign in with a passkey' }).click()
    await page.getByRole('button', { name: 'Approve' }).click()
    await page.getByRole('heading', { name: 'Approved' }).waitFor()
    expect(await poll()).toBe(200)
  })

  it('are added after 15 minutes once the person confirmed with a passkey that it is them', async () => {
    const page = await fixture.signedInPage()
    await addAuthenticator(page)
    await addPasskey(page, 'Confirming')
    fixture.service.clock.advance({ seconds: 901 })

    // The page was opened before: its script says what to do.
    await page.getByRole('button', { name: 'Add a passkey' }).click()
    await page.getByText('confirm that it is you').first().waitFor()
    await page.reload()
    expect(await page.getByRole('button', { name: 'Add a passkey' }).count()).toBe(0)
    await page.getByRole('button', { name: 'Confirm with a passkey' }).click()
    await page.getByRole('button', { name: 'Add a passkey' }).waitFor()
    expect(await page.getByRole('heading', { name: 'Confirm that it is you' }).count()).toBe(0)
  })
})

/** What a page signals about the passkeys of an account. */
type SignalledCredentials = {
  readonly rpId: string
  readonly userId: string
  readonly allAcceptedCredentialIds: string[]
}

declare global {
  var signalled: SignalledCredentials | undefined
}

function signalledCredentials(page: Page): Promise<string[] | undefined> {
  return page.evaluate(() => globalThis.signalled?.allAcceptedCredentialIds)
}

/** Records each request to the authenticator in the page's next documents, and how it ends. */
async function recordCeremonies(page: Page): Promise<string[]> {
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
