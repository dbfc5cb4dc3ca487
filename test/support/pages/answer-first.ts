import type { Page, Route } from 'playwright-core'

/**
 * Lets `answer` handle the first request of a path; the service gets all others.
 *
 * The route stays in place, unlike one of `times: 1`: removing the last route of a page turns interception off, which
 * would happen while the page sends its next request.
 */
export async function answerFirst(page: Page, path: string, answer: (route: Route) => Promise<void>): Promise<void> {
  let isFirst = true
  await page.route(path, async (route) => {
    if (!isFirst) return route.continue()
    isFirst = false
    await answer(route)
  })
}
