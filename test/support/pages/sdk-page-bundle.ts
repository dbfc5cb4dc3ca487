import { fileURLToPath } from 'node:url'
import { rolldown } from 'rolldown'
import type * as page from './sdk-page.ts'

/** The source of a classic script that sets the global variable `sdkPage` to the exports of `sdk-page.ts`. */
export async function bundleSdkPage(): Promise<string> {
  const input = fileURLToPath(new URL('sdk-page.ts', import.meta.url))
  const bundle = await rolldown({ input, platform: 'browser' })
  const { output } = await bundle.generate({ format: 'iife', name: 'sdkPage', codeSplitting: false })
  await bundle.close()
  return output[0].code
}

declare global {
  // Set where the script is loaded.
  var sdkPage: typeof page
}
