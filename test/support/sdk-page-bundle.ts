import { fileURLToPath } from 'node:url'
import { rolldown } from 'rolldown'
import type * as page from './sdk-page.ts'

/** The source of a classic script that puts what `sdk-page.ts` exports into the variable `sdkPage`. */
export async function bundleSdkPage(): Promise<string> {
  const input = fileURLToPath(new URL('sdk-page.ts', import.meta.url))
  const bundle = await rolldown({ input, platform: 'browser' })
  const { output } = await bundle.generate({ format: 'iife', name: 'sdkPage', codeSplitting: false })
  await bundle.close()
  return output[0].code
}

declare global {
  // Where the script is loaded.
  var sdkPage: typeof page
}
