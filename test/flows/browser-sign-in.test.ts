import { afterAll, beforeAll, expect, it } from 'vitest'
import { makeCallEventStore } from '../../src/gateway/usage/store.ts'
import { changeView, findOverflow, findViolations } from '../support/pages/browser.ts'
import { startAtOwnAddress } from '../support/own-address.ts'
import { startBrowserService } from '../support/pages/browser-service.ts'
import type { BrowserService } from '../support/pages/browser-service.ts'
import { endedCall } from '../support/call-events.ts'
import { linkOf, SIGN_IN_SUBJECT } from '../support/mailbox.ts'
import { bearerOf } from '../support/requests.ts'

const EMAIL = 'ada@example.com'
let fixture: BrowserService

beforeAll(async () => {
  fixture = await startBrowserService()
})
afterAll(() => fixture[Symbol.asyncDispose]())

it('lets an invited person with a phone sign in by email, approve a device, make a key and see the team, without a script', async () => {
  const page = await fixture.newPage({ javaScript: false })
  await changeView(page, { width: 320, scheme: 'dark' })
  const { userCode, poll } = await fixture.startLogin('by-phone')

  await page.goto(`${fixture.baseUrl}/device?userCode=${userCode}`)
  expect(await findOverflow(page)).toBe(0)
  await page.getByLabel('Email address').fill(EMAIL)
  await page.getByRole('button', { name: 'Email me a sign-in link' }).click()
  await page.getByRole('heading', { name: 'Check your email' }).waitFor()
  const [mail] = await fixture.service.mailbox.waitFor(EMAIL, SIGN_IN_SUBJECT)
  if (!mail) throw new Error('No sign-in link arrived.')

  await page.goto(linkOf(mail).href)
  expect(await findOverflow(page)).toBe(0)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByRole('heading', { name: 'Your devices' }).waitFor()
  expect(await findOverflow(page)).toBe(0)
  // The code that the person came with is filled in.
  await page.getByRole('button', { name: 'Continue' }).click()
  await page.getByRole('button', { name: 'Approve' }).click()
  await page.getByRole('status').filter({ hasText: 'Approved.' }).waitFor()
  expect(await poll()).toBe(200)

  // The person makes a key, and sees it only once.
  await page.getByLabel('Name of a new key').fill('Editor')
  await page.getByRole('button', { name: 'Create a key' }).click()
  const key = await page.locator('.secret code').innerText()
  expect(await findOverflow(page)).toBe(0)
  const listed = await fetch(`${fixture.baseUrl}/v1/models`, { headers: bearerOf(key) })
  expect(listed.status).toBe(200)

  // The pages of the team, each by the link of its tab.
  await page.getByRole('link', { name: 'Your team' }).click()
  await page.getByRole('heading', { name: 'Overview' }).waitFor()
  expect(await page.content()).not.toContain(key)
  for (const tab of ['Usage', 'Limits', 'Models', 'Members', 'Devices', 'Keys', 'Audit', 'Sessions']) {
    await page.getByRole('navigation').getByRole('link', { name: tab, exact: true }).click()
    await page.getByRole('heading', { name: tab, exact: true, level: 1 }).waitFor()
    expect(await findOverflow(page), tab).toBe(0)
  }
})

it('lets a person sign in by email at an address without TLS that is not this machine', async () => {
  await using service = await startAtOwnAddress({}, 'svc.test')
  const page = await fixture.newPage()
  await page.goto(`${service.config.baseUrl}/sign-in`)
  await page.getByLabel('Email address').fill(EMAIL)
  await page.getByRole('button', { name: 'Email me a sign-in link' }).click()
  await page.getByRole('heading', { name: 'Check your email' }).waitFor()
  const [mail] = await service.mailbox.waitFor(EMAIL, SIGN_IN_SUBJECT)
  if (!mail) throw new Error('No sign-in link arrived.')

  await page.goto(linkOf(mail).href)
  const sent = page.waitForRequest((request) => request.method() === 'POST')
  await page.getByRole('button', { name: 'Sign in' }).click()
  // The Referer must not have the token of the link.
  expect(await (await sent).headerValue('referer')).toBe(`${service.config.baseUrl}/`)
  await page.getByRole('heading', { name: 'Your devices' }).waitFor()
})

it('lets a person with a phone watch a session from the list of the team', async () => {
  const { service, baseUrl } = fixture
  const { prisma } = service.database
  const { id: accountId } = await prisma.account.findUniqueOrThrow({ where: { email: EMAIL } })
  const at = service.clock.now().toISOString()
  const call = { sessionId: 'run-1', model: 'svc/fast' }
  await makeCallEventStore(service.database).save({ id: 'batch_1', events: [endedCall({ accountId, at, call })] })
  const page = await fixture.signedInPage()
  await changeView(page, { width: 320, scheme: 'light' })
  await page.goto(`${baseUrl}/teams/acme/core/sessions`)
  await page.getByRole('link', { name: 'run-1' }).click()
  await page.locator('[data-field="timeline"] li').first().waitFor()
  expect(await page.locator('[data-part="session"] [data-field="calls"]').innerText()).toContain('1')
  expect(await findOverflow(page)).toBe(0)
})

it('shows the pages of the sign-in without violations of accessibility rules', async () => {
  const page = await fixture.newPage()
  for (const path of ['/', '/sign-in', '/device']) {
    await page.goto(fixture.baseUrl + path)
    expect(await findViolations(page), path).toEqual([])
  }
})
