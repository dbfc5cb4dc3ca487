/** `npm run screenshots [DIRECTORY]`: every page at phone and desktop width, light and dark, for people to look at. */
import { mkdir } from 'node:fs/promises'
import path from 'node:path'
import { changeView, SCHEMES, startBrowser } from './browser.ts'
import { servePages } from './page-server.ts'
import { FRIENDLY, HOSTILE, samplePages } from './sample-pages.ts'

const WIDTHS = { phone: 360, desktop: 1280 } as const

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
process.stdout.write(`The screenshots are in ${directory}.\n`)
