import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { invitationMail } from '../../src/control/mails/invitation.ts'
import { documentOf } from '../../src/docs/document.ts'
import { docsPage } from '../../src/docs/page.ts'
import { readContract } from '../../src/http/contract.ts'
import { changeView, findOverflow, findViolations, preloadAxe, startBrowser } from '../support/pages/browser.ts'
import type { TestBrowser, View } from '../support/pages/browser.ts'
import { servePages } from '../support/pages/page-server.ts'
import type { PageServer } from '../support/pages/page-server.ts'
import { FRIENDLY, HOSTILE, samplePages } from '../support/pages/sample-pages.ts'

const friendly = samplePages(FRIENDLY)
const hostile = samplePages(HOSTILE)
const names = [...hostile.keys()]
const deployment = { baseUrl: 'https://svc.test', gatewayUrl: 'https://gateway.svc.test', secure: true }
const documentation = documentOf(readContract(), deployment)

describe.each(names)('the page %s', (name) => {
  const markup = String(hostile.get(name))

  it('shows texts of other people as text, not as markup', () => {
    expect(markup).not.toMatch(/<(img|b|i|u)\b/)
    const scriptsOf = (text: string) => text.match(/<script\b/g)
    expect(scriptsOf(markup)).toEqual(scriptsOf(String(friendly.get(name))))
  })

  it('has no inline style, inline script or resource of another host', () => {
    const tags = markup.match(/<[a-z][^>]*>/g) ?? []
    const withoutValues = tags.map((tag) => tag.replaceAll(/"[^"]*"/g, '""'))
    expect(withoutValues.filter((tag) => /\s(style|on[a-z]+)=/.test(tag))).toEqual([])
    expect(tags.filter((tag) => /\s(src|href|action)="(?!#|\/(?!\/))/.test(tag))).toEqual([])
    expect(markup).not.toMatch(/<style|<script(?! type="module" src="\/assets\/)/)
  })

  it('has a title, one heading and a language', () => {
    expect(markup).toMatch(/^<!doctype html>\s*<html lang="en">/)
    expect(markup).toMatch(/<title>[^<]+ · svc<\/title>/)
    expect(markup.match(/<h1\b/g)).toHaveLength(1)
  })

  it('has a link to the home page', () => {
    expect(markup).toContain('<a class="brand" href="/">')
  })

  it('has only buttons that take the focus in Safari, which a click twice and the tab key need', () => {
    const buttons = markup.match(/<button\b[^>]*>/g) ?? []
    expect(buttons.filter((button) => !button.includes(' tabindex="0"'))).toEqual([])
  })
})

describe('the sign-in page', () => {
  it('leads a person who is signed in on, because it is the same for everybody', () => {
    expect(String(friendly.get('sign-in'))).toContain('<a href="/device">your devices and keys</a>')
  })
})

describe('the device page', () => {
  it('leads to the team, to the live view, and to how to connect a tool', () => {
    const links = /<nav aria-label="More pages">[^]*?<\/nav>/.exec(String(friendly.get('device')))?.[0]
    expect(links?.match(/href="[^"]*"/g)).toEqual(['href="/teams"', 'href="/session"', 'href="/"'])
  })
})

describe('the pages in a browser', () => {
  let browser: TestBrowser
  let server: PageServer
  let hostileServer: PageServer

  beforeAll(async () => {
    ;[browser, server, hostileServer] = await Promise.all([startBrowser(), servePages(friendly), servePages(hostile)])
  })
  afterAll(async () => {
    await Promise.all([browser, server, hostileServer].map((part) => part[Symbol.asyncDispose]()))
  })

  // Error pages differ only in their text, except these two, which have a button and a waiting time. The pages of a team
  // are made of the same tables, lists and forms, so some of them have all parts.
  const differentPages = names.filter((name) => {
    if (name.startsWith('error-')) return /^error-(403|429)$/.test(name)
    return !name.startsWith('team-') || /^team-(overview|usage|members|keys)$/.test(name)
  })

  // The layout depends on the width and the contrast on the scheme, so two views cover both widths and both schemes.
  const views: readonly (Pick<View, 'width' | 'scheme'> & { rules?: string[] })[] = [
    { width: 360, scheme: 'light' },
    { width: 1280, scheme: 'dark', rules: ['color-contrast', 'scrollable-region-focusable'] },
  ]

  it(
    'have no accessibility violation that axe finds, narrow or wide, light or dark',
    { timeout: 180_000 },
    async () => {
      const page = await browser.newPage({ width: 360, scheme: 'light' })
      await preloadAxe(page)
      const violations = await visitAll(differentPages, page, server, async () => {
        await openFolds(page)
        const found: string[] = []
        for (const { rules, ...view } of views) {
          await changeView(page, view)
          found.push(...(await findViolations(page, rules)).map((line) => `${view.width} ${view.scheme}: ${line}`))
        }
        return found
      })
      expect(violations).toEqual({})
    },
  )

  it('with hostile texts run no script, load nothing from other hosts and fit into 320 px', async () => {
    const page = await browser.newPage({ width: 320, scheme: 'light' })
    const otherHosts: string[] = []
    page.on('request', (request) => {
      if (!request.url().startsWith(hostileServer.url)) otherHosts.push(request.url())
    })
    const violations = await visitAll(names, page, hostileServer, async () => {
      await openFolds(page)
      const overflow = await findOverflow(page)
      const pwned = await page.evaluate(() => 'pwned' in globalThis)
      return [...(overflow > 0 ? [`${overflow} px too wide`] : []), ...(pwned ? ['a script ran'] : [])]
    })
    expect(violations).toEqual({})
    expect(otherHosts).toEqual([])
  })

  it('show all columns of the changes of a team at 1280 px, whatever the names are', async () => {
    const page = await browser.newPage({ width: 1280, scheme: 'light' })
    await page.goto(`${hostileServer.url}/team-audit`)
    const [inner, outer] = await page
      .locator('.scroll')
      .evaluate(({ scrollWidth, clientWidth }) => [scrollWidth, clientWidth])
    expect(inner).toBe(outer)
  })

  it('keep the button of a form beside its fields where a field has a mistake', async () => {
    const page = await browser.newPage({ width: 1280, scheme: 'light' })
    await page.goto(`${server.url}/team-limits`)
    const edges = await page
      .locator('.fields:has(.mistake) > div > :is(input, select), .fields:has(.mistake) > .button')
      .evaluateAll((parts) => parts.map((part) => part.getBoundingClientRect().bottom))
    expect(edges).toHaveLength(4)
    expect(new Set(edges).size).toBe(1)
  })

  it('print all columns of a table on a page of A4, with dark text also in the dark scheme', async () => {
    const page = await browser.newPage({ width: 718, scheme: 'dark' })
    await page.goto(`${server.url}/team-usage`)
    await page.emulateMedia({ media: 'print' })
    expect(await findOverflow(page)).toBe(0)
    expect(await page.evaluate(() => getComputedStyle(document.body).color)).toBe('rgb(18, 24, 26)')
  })

  it('mark only the current one of the pages of a team where the colours are forced', async () => {
    const page = await browser.newPage({ width: 1280, scheme: 'light' })
    await page.emulateMedia({ forcedColors: 'active' })
    await page.goto(`${server.url}/team-usage`)
    const marked = await page
      .locator('.tabs a')
      .evaluateAll((links) =>
        links
          .filter(
            (link) => getComputedStyle(link).borderBottomColor !== getComputedStyle(document.body).backgroundColor,
          )
          .map((link) => link.textContent),
      )
    expect(marked).toEqual(['Usage'])
  })

  it('show how much of a limit is left where the colours are forced', async () => {
    const page = await browser.newPage({ width: 1280, scheme: 'light' })
    await page.emulateMedia({ forcedColors: 'active' })
    await page.goto(`${server.url}/team-limits`)
    const styles = await page
      .locator('.meter')
      .evaluateAll((meters) => meters.map((meter) => getComputedStyle(meter).borderTopStyle))
    expect(new Set(styles)).toEqual(new Set(['solid']))
  })

  it('refuse an injected script by their Content-Security-Policy', async () => {
    const page = await browser.newPage({ width: 360, scheme: 'light' })
    await page.goto(`${server.url}/sign-in`)
    await page.evaluate(() => document.body.insertAdjacentHTML('beforeend', '<img src=x onerror="globalThis.pwned=1">'))
    await page.waitForFunction(() => document.images.length === 1 && document.images[0]?.complete)
    expect(await page.evaluate(() => 'pwned' in globalThis)).toBe(false)
  })

  it.each([320, 1280])('show Approve and Deny with the same size and style at %i px', async (width) => {
    const page = await browser.newPage({ width, scheme: 'light' })
    await page.goto(`${server.url}/confirm`)
    const looks = await page.getByRole('button').evaluateAll((buttons) =>
      buttons.map((button) => {
        const { width, height } = button.getBoundingClientRect()
        const { color, backgroundColor, borderColor, fontSize, fontWeight } = getComputedStyle(button)
        return { width, height, color, backgroundColor, borderColor, fontSize, fontWeight }
      }),
    )
    expect(looks).toHaveLength(2)
    expect(looks[0]).toEqual(looks[1])
  })

  it('let the keyboard reach Approve and then Deny, and submit nothing by themselves', async () => {
    const page = await browser.newPage({ width: 360, scheme: 'light', javaScript: false })
    await page.goto(`${server.url}/confirm`)
    const focused = () => page.locator(':focus').innerText()
    await page.keyboard.press('Tab')
    expect((await focused()).trim()).toBe('svc')
    await page.keyboard.press('Tab')
    expect((await focused()).trim()).toBe('Approve')
    await page.keyboard.press('Tab')
    expect((await focused()).trim()).toBe('Deny')
    expect(page.url()).toBe(`${server.url}/confirm`)
  })

  it('send token and action in the body, not in the URL', async () => {
    const page = await browser.newPage({ width: 360, scheme: 'light', javaScript: false })
    await page.goto(`${server.url}/confirm`)
    const [request] = await Promise.all([
      page.waitForRequest((sent) => sent.method() === 'POST'),
      page.getByRole('button', { name: 'Deny' }).click(),
    ])
    expect(request.url()).toBe(`${server.url}/v1/auth/magic/consume`)
    expect(new URLSearchParams(request.postData() ?? '').get('action')).toBe('deny')
    expect(new URLSearchParams(request.postData() ?? '').get('token')).toMatch(/^svcm_/)
  })

  it('send nothing when all buttons of the page that asks for a code are pressed', async () => {
    const page = await browser.newPage({ width: 360, scheme: 'light' })
    const posts: string[] = []
    page.on('request', (request) => request.method() === 'POST' && posts.push(request.url()))
    await page.goto(`${server.url}/confirm-code`)
    const buttons = await page.getByRole('button').all()
    expect(buttons).not.toEqual([])
    for (const button of buttons) await button.click()
    expect(posts).toEqual([])
    expect(await page.content()).not.toContain(FRIENDLY.userCode)
  })

  it('show passkey buttons only when a script has found that passkeys work', async () => {
    const withScripts = await browser.newPage({ width: 360, scheme: 'light' })
    await withScripts.goto(`${server.url}/device-signed-out`)
    await withScripts.getByRole('button', { name: 'Sign in with a passkey' }).waitFor()

    const without = await browser.newPage({ width: 360, scheme: 'light', javaScript: false })
    await without.goto(`${server.url}/device-signed-out`)
    expect(await without.getByRole('button', { name: 'passkey' }).count()).toBe(0)
    expect(await without.getByRole('button', { name: 'Email me a sign-in link' }).count()).toBe(1)
    expect(await without.locator('noscript p').isVisible()).toBe(true)
  })

  it('of the email that invites a person fits into 320 px, with its command', async () => {
    const page = await browser.newPage({ width: 320, scheme: 'light' })
    const baseUrl = 'https://agents.engineering.example.com'
    const commandUrl = `${baseUrl}/assets/svc-cli.tgz`
    const invited = { team: '@acme/core', role: 'member', invitedBy: 'ada@example.com', baseUrl, commandUrl } as const
    await page.setContent(invitationMail(invited).html)
    expect(await page.getByText(`svc login ${baseUrl}`).count()).toBe(1)
    expect(await findOverflow(page)).toBe(0)
  })

  it('of the documentation fit into 320 px and have no accessibility violation', async () => {
    // All operations have the same layout and axe is slow, so it checks only some.
    const paths = Object.entries(documentation.paths).filter(([path]) => /^\/(device|v1\/chat\/)/.test(path))
    const pages = { whole: documentation, part: { ...documentation, paths: Object.fromEntries(paths) } }
    await using docs = await servePages(
      new Map(Object.entries(pages).map(([name, document]) => [name, docsPage(document, deployment)])),
    )
    const page = await browser.newPage({ width: 320, scheme: 'dark' })
    const stylesheet = fileURLToPath(new URL('../../src/docs/docs.css', import.meta.url))
    await page.route('**/docs/docs.css', (route) => route.fulfill({ path: stylesheet }))

    await page.goto(`${docs.url}/part`)
    await openFolds(page)
    expect(await findViolations(page)).toEqual([])
    await page.goto(`${docs.url}/whole`)
    await openFolds(page)
    expect(await findOverflow(page)).toBe(0)
  })

  async function visitAll(
    names: readonly string[],
    page: Page,
    from: PageServer,
    look: () => Promise<string[]>,
  ): Promise<Record<string, string[]>> {
    const found: Record<string, string[]> = {}
    for (const name of names) {
      await page.goto(`${from.url}/${name}`)
      const violations = await look()
      if (violations.length > 0) found[name] = violations
    }
    return found
  }
})

/** Opens all `details` elements. It uses no locator, because the first one in a document loads Playwright's selectors. */
function openFolds(page: Page): Promise<void> {
  return page.evaluate(() => {
    const folds = document.querySelectorAll('details')
    for (const fold of folds) fold.removeAttribute('name')
    for (const fold of folds) fold.setAttribute('open', '')
  })
}

describe('the documentation page', () => {
  const page = docsPage(documentation, deployment)

  it('names parameters and enumerated values, also of shared schemas', () => {
    expect(String(page)).toContain('X-Svc-Use-Cookies')
    expect(String(page)).toContain('&quot;member&quot; | &quot;admin&quot;')
    expect(String(page)).not.toContain('<code></code>')
  })

  it('names the header or cookie of each credential for this deployment', () => {
    for (const place of ['Authorization: Bearer', 'Cookie: __Host-svc_session', 'x-api-key'])
      expect(String(page)).toContain(`<code>${place}</code>`)
  })
})

it('has a stylesheet that loads nothing', async () => {
  const css = await readFile(new URL('../../src/control/pages/assets/auth.css', import.meta.url), 'utf8')
  expect(css).not.toMatch(/url\(|@import|@font-face/)
})
