/**
 * `npm run screenshots [DIRECTORY]`: takes a picture of each page at phone and desktop width, light and dark, for
 * review.
 */
import { mkdir } from 'node:fs/promises'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { docsPage } from '../../../src/docs/page.ts'
import { documentOf } from '../../../src/docs/document.ts'
import { readContract } from '../../../src/http/contract.ts'
import { changeView, SCHEMES, startBrowser } from './browser.ts'
import { servePages } from './page-server.ts'
import { FRIENDLY, HOSTILE, samplePages } from './sample-pages.ts'

const WIDTHS = { phone: 360, desktop: 1280 } as const
const DEPLOYMENT = { baseUrl: 'https://svc.example.com', gatewayUrl: 'https://svc.example.com', secure: true }
const STYLESHEET = fileURLToPath(new URL('../../../src/docs/docs.css', import.meta.url))

const directory = path.resolve(process.argv[2] ?? 'screenshots')
await mkdir(directory, { recursive: true })
await using browser = await startBrowser()
for (const [kind, words] of [['friendly', FRIENDLY] as const, ['hostile', HOSTILE] as const]) {
  const pages = samplePages(words)
  await using server = await servePages(pages)
  const page = await browser.newPage({ width: WIDTHS.phone, scheme: 'light' })
  for (const name of pages.keys()) {
    await page.goto(`${server.url}/${name}`)
    for (const [device, width] of Object.entries(WIDTHS)) {
      for (const scheme of SCHEMES) {
        await changeView(page, { width, scheme })
        await page.screenshot({ path: path.join(directory, `${kind}-${name}-${device}-${scheme}.png`), fullPage: true })
      }
    }
  }
}

// The documentation is longer than a picture can be, so it takes only its first screen and one operation.
const docs = docsPage(documentOf(readContract(), DEPLOYMENT), DEPLOYMENT)
await using server = await servePages(new Map([['docs', docs]]))
const page = await browser.newPage({ width: WIDTHS.phone, scheme: 'light' })
await page.route('**/docs/docs.css', (route) => route.fulfill({ path: STYLESHEET }))
for (const part of ['index', 'startDeviceLogin']) {
  await page.goto(`${server.url}/docs#${part}`)
  for (const [device, width] of Object.entries(WIDTHS)) {
    for (const scheme of SCHEMES) {
      await changeView(page, { width, scheme })
      await page.locator(`#${part}`).evaluate((target) => target.scrollIntoView())
      await page.screenshot({ path: path.join(directory, `docs-${part}-${device}-${scheme}.png`) })
    }
  }
}
process.stdout.write(`The screenshots are in ${directory}.\n`)
