import { bearerOf, expectOk } from './requests.ts'
import type { TestService } from './service.ts'

/** The API key that a page shows once; rejects when it shows none. */
export async function shownKey(page: Response): Promise<string> {
  const markup = await (await expectOk('The form for an API key', page.clone())).text()
  const [, key] = /<p class="secret"><code>(svck_[\w-]+)<\/code>/.exec(markup) ?? []
  if (key === undefined) throw new Error(`The page shows no API key: ${markup}`)
  return key
}

/** Whether an API key is good for a request to the gateway. */
export async function isGoodKey(service: TestService, key: string): Promise<boolean> {
  return (await service.fetch('/v1/models', { headers: bearerOf(key) })).status === 200
}
