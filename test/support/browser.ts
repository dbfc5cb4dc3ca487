import chromium from '@sparticuz/chromium'
import axe from 'axe-core'
import type { AxeResults, RunOptions } from 'axe-core'
import { chromium as playwright, type Browser, type Page } from 'playwright-core'

/** How a page is looked at. Scripts run unless `javaScript` is false. */
export type View = {
  readonly width: number
  readonly scheme: 'light' | 'dark'
  readonly javaScript?: boolean
}

export const SCHEMES = ['light', 'dark'] as const

export type TestBrowser = AsyncDisposable & {
  readonly browser: Browser
  /** A page in a profile of its own: no cookie, cache or passkey of another one. */
  newPage(view: View): Promise<Page>
}

// The package's list is made for functions in a cloud: it turns the same-origin policy off, which is what tests are about.
const UNWANTED = [
  '--disable-web-security',
  '--disable-site-isolation-trials',
  '--allow-running-insecure-content',
  '--single-process',
  '--no-zygote',
]

/** Starts Chromium, as it comes from npm. Close it with `await using` or `[Symbol.asyncDispose]()`. */
export async function startBrowser(): Promise<TestBrowser> {
  const browser = await playwright.launch({
    executablePath: await chromium.executablePath(),
    args: chromium.args.filter((arg) => !UNWANTED.includes(arg)),
    headless: true,
  })
  return {
    browser,
    newPage: (view) => openPage(browser, view),
    [Symbol.asyncDispose]: () => browser.close(),
  }
}

async function openPage(browser: Browser, { width, scheme, javaScript = true }: View): Promise<Page> {
  const context = await browser.newContext({
    viewport: { width, height: heightFor(width) },
    colorScheme: scheme,
    // A colour on its way to another one is nobody's colour.
    reducedMotion: 'reduce',
    javaScriptEnabled: javaScript,
    deviceScaleFactor: 1,
  })
  return context.newPage()
}

function heightFor(width: number): number {
  return width < 600 ? 760 : 860
}

/** What axe finds serious or critical on the page as it stands, by all its rules or these, one line each; none is what a test wants. */
export async function findSeriousFlaws(page: Page, rules?: readonly string[]): Promise<string[]> {
  // Through the debugger, not by a script tag: the pages' own policy would refuse that.
  if (!(await page.evaluate(() => 'axe' in globalThis))) await page.evaluate(axe.source)
  const options = {
    resultTypes: ['violations'],
    ...(rules && { runOnly: { type: 'rule', values: [...rules] } }),
  } satisfies RunOptions
  const { violations } = await page.evaluate((given) => globalThis.axe.run(given), options)
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .map(({ id, help, nodes }) => `${id}: ${help} (${nodes.map(({ html }) => html).join(' | ')})`)
}

/** Shows a page that is open already at another width and in another colour scheme. */
export async function changeView(page: Page, { width, scheme }: Pick<View, 'width' | 'scheme'>): Promise<void> {
  await page.setViewportSize({ width, height: heightFor(width) })
  await page.emulateMedia({ colorScheme: scheme })
}

/** By how many pixels the page is wider than its window. */
export function findOverflow(page: Page): Promise<number> {
  return page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth)
}

declare global {
  // What the evaluated source puts there.
  var axe: { run(options: RunOptions): Promise<AxeResults> }
}
