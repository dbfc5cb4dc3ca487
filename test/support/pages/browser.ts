import chromium from '@sparticuz/chromium'
import axe from 'axe-core'
import type { AxeResults, RunOptions } from 'axe-core'
import { chromium as playwright } from 'playwright-core'
import type { Browser, Page } from 'playwright-core'

/** The window in which a page is shown. Scripts run unless `javaScript` is false. */
export type View = {
  readonly width: number
  readonly scheme: 'light' | 'dark'
  readonly javaScript?: boolean
}

export const SCHEMES = ['light', 'dark'] as const

export type TestBrowser = AsyncDisposable & {
  readonly browser: Browser
  /** Opens a page in a new profile, which shares no cookie, cache or passkey with another. */
  newPage(view: View): Promise<Page>
}

// The package's arguments are made for cloud functions.
const UNWANTED_ARGS = [
  // They turn off the same-origin policy, which the tests rely on.
  '--disable-web-security',
  '--disable-site-isolation-trials',
  '--allow-running-insecure-content',
  '--single-process',
  '--no-zygote',
  // They emulate a graphics card, which takes four times the CPU time of drawing without one.
  '--ignore-gpu-blocklist',
  '--in-process-gpu',
  '--use-gl=angle',
  '--use-angle=swiftshader',
  '--enable-unsafe-swiftshader',
]

/**
 * Starts the Chromium of the npm package. All names under `test` are this machine for it. Close it with `await using`
 * or `[Symbol.asyncDispose]()`.
 */
export async function startBrowser(): Promise<TestBrowser> {
  const wanted = chromium.args.filter((arg) => !UNWANTED_ARGS.includes(arg))
  const browser = await playwright.launch({
    executablePath: await chromium.executablePath(),
    args: [...wanted, '--disable-gpu', '--host-resolver-rules=MAP *.test 127.0.0.1'],
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
    // Colours are measured, and must not be in transition.
    reducedMotion: 'reduce',
    javaScriptEnabled: javaScript,
    deviceScaleFactor: 1,
  })
  return context.newPage()
}

function heightFor(width: number): number {
  return width < 600 ? 760 : 860
}

/** Loads axe into every document that the page opens. For many documents, this is faster than `findViolations` alone. */
export async function preloadAxe(page: Page): Promise<void> {
  await page.addInitScript({ content: axe.source })
}

/** The violations that axe finds on the page now, one line each; `rules` limits the check to some of its rules. */
export async function findViolations(page: Page, rules?: readonly string[]): Promise<string[]> {
  // Evaluated through the debugger, because the Content-Security-Policy of the pages refuses a script tag.
  if (!(await page.evaluate(() => 'axe' in globalThis))) await page.evaluate(axe.source)
  const options = {
    resultTypes: ['violations'],
    ...(rules && { runOnly: { type: 'rule', values: [...rules] } }),
  } satisfies RunOptions
  const { violations } = await page.evaluate((given) => globalThis.axe.run(given), options)
  return violations.map(({ id, help, nodes }) => `${id}: ${help} (${nodes.map(({ html }) => html).join(' | ')})`)
}

/** Changes the width and the colour scheme of an open page. */
export async function changeView(page: Page, { width, scheme }: Pick<View, 'width' | 'scheme'>): Promise<void> {
  await page.setViewportSize({ width, height: heightFor(width) })
  await page.emulateMedia({ colorScheme: scheme })
}

/** The number of pixels by which the page is wider than its window. */
export function findOverflow(page: Page): Promise<number> {
  return page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth)
}

declare global {
  // Set by the evaluated source of axe.
  var axe: { run(options: RunOptions): Promise<AxeResults> }
}
