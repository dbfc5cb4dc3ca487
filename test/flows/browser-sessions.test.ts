import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { accountIdOf, eventOf, saveEvents } from '../support/agent-sessions.ts'
import { answerFirst } from '../support/pages/answer-first.ts'
import { changeView, findOverflow, findViolations, SCHEMES } from '../support/pages/browser.ts'
import { ADA, startBrowserService } from '../support/pages/browser-service.ts'
import type { BrowserService } from '../support/pages/browser-service.ts'

let fixture: BrowserService

beforeAll(async () => {
  fixture = await startBrowserService()
})
afterAll(() => fixture[Symbol.asyncDispose]())

describe('the session page', () => {
  it('lists the sessions of the team, and shows the calls of one as they happen', async () => {
    const { service, baseUrl } = fixture
    const run = {
      team: '@acme/core',
      accountId: await accountIdOf(service, ADA),
      sessionId: `run/${'long-'.repeat(40)}`,
    }
    const at = new Date()
    await saveEvents(service, eventOf('started', run, { at }), eventOf('finished', run, { at }))
    await saveEvents(service, eventOf('started', run, { at, requestId: 'req_2', model: 'vendora/large' }))

    const page = await fixture.signedInPage()
    await page.goto(`${baseUrl}/session`)
    const listed = page.locator('.row', { hasText: ADA })
    await listed.getByText('1 call ended').waitFor()
    await page.getByRole('link', { name: run.sessionId }).click()

    const rows = page.locator('[data-field="timeline"] > .row')
    await rows.filter({ hasText: 'vendora/large' }).getByText('Running').waitFor()
    await rows.filter({ hasText: 'svc/fast' }).getByText('100 tokens in (40 cached), 20 out, $0.0012').waitFor()
    await page.getByText('1 call running').waitFor()
    await saveEvents(service, eventOf('failed', run, { at, requestId: 'req_2', model: 'vendora/large' }))
    await rows.filter({ hasText: 'vendora/large' }).getByText('Failed').waitFor()
    await page.getByText('2 calls ended, 1 failed').waitFor()
    expect(await rows.count()).toBe(2)

    for (const scheme of SCHEMES) {
      for (const width of [320, 800]) {
        await changeView(page, { width, scheme })
        expect([width, scheme, await findOverflow(page)]).toEqual([width, scheme, 0])
        expect(await findViolations(page)).toEqual([])
      }
    }
    await page.getByRole('link', { name: 'All sessions of the team' }).click()
    await listed.getByText('2 calls ended').waitFor()
    await changeView(page, { width: 320, scheme: 'light' })
    expect([await findOverflow(page), await findViolations(page)]).toEqual([0, []])
  })

  it('writes the day and the time zone of a call, in the language of the page', async () => {
    const { service, baseUrl } = fixture
    const run = { team: '@acme/core', accountId: await accountIdOf(service, ADA), sessionId: 'dated' }
    await saveEvents(service, eventOf('finished', run, { at: new Date('2026-11-21T09:00:30Z') }))
    const page = await fixture.signedInPage()
    const browser = await page.context().newCDPSession(page)
    await browser.send('Emulation.setLocaleOverride', { locale: 'de-DE' })
    await browser.send('Emulation.setTimezoneOverride', { timezoneId: 'Europe/Berlin' })
    await page.goto(`${baseUrl}/session#dated`)
    await page.getByText(/^21 Nov 2026, 10:00:30 (CET|GMT\+1) · /).waitFor()
  })

  it('continues by itself after the stream was broken off', async () => {
    const { service, baseUrl } = fixture
    const run = { team: '@acme/core', accountId: await accountIdOf(service, ADA), sessionId: 'broken' }
    await saveEvents(service, eventOf('started', run, { at: new Date() }))
    const row = await service.database.prisma.callEvent.findFirstOrThrow({ where: { sessionId: 'broken' } })
    const page = await fixture.signedInPage()
    const asked: (string | null)[] = []
    page.on('request', (request) => {
      if (request.url().includes('/stream?')) asked.push(new URL(request.url()).searchParams.get('after'))
    })
    const first = { id: String(row.id), type: 'call.started', at: row.at, requestId: row.requestId, model: row.model }
    const broken = { contentType: 'application/x-ndjson', body: `${JSON.stringify(first)}\n{"id":` }
    await answerFirst(page, '**/stream?*', (route) => route.fulfill(broken))
    await page.goto(`${baseUrl}/session#broken`)
    await page.getByText('1 call running').waitFor()
    await saveEvents(service, eventOf('finished', run))
    await page.getByText('1 call ended').waitFor()
    expect(asked).toEqual(['0', String(row.id)])
    expect(await page.locator('[data-field="timeline"] > .row').count()).toBe(1)
  })

  it('tries again after a second when the list was shown since the last failure', async () => {
    const page = await fixture.signedInPage()
    await page.addInitScript(() => {
      const waits: (number | undefined)[] = []
      const wait = globalThis.setTimeout
      const atOnce = (run: () => void, ms?: number) => waits.push(ms) && wait(run, 0)
      Object.assign(globalThis, { waits, setTimeout: atOnce })
    })
    const statuses = [503, 503, 200, 503]
    // The last request gets no answer, so that the page stops.
    await page.route('**/v1/teams/*/sessions', async (route) => {
      const status = statuses.shift()
      if (status !== undefined) await route.fulfill({ status, json: { sessions: [] } })
    })
    await page.goto(`${fixture.baseUrl}/session`)
    await page.waitForFunction(() => (globalThis as unknown as { waits: number[] }).waits.length === 4)
    expect(await page.evaluate('waits')).toEqual([1000, 2000, 5000, 1000])
  })

  it('asks a person who is not signed in to sign in', async () => {
    const page = await fixture.newPage()
    await page.goto(`${fixture.baseUrl}/session#run-1`)
    await page.getByText('You are not signed in.').waitFor()
    await page.getByRole('button', { name: 'Sign in with a passkey' }).waitFor()
    expect(await findViolations(page)).toEqual([])
  })

  it('says that a team is not the person’s own', async () => {
    const page = await fixture.signedInPage()
    await page.goto(`${fixture.baseUrl}/session#id=run-1&team=@acme/other`)
    await page.getByText('You are not a member of a team with this name.').waitFor()
  })
})
