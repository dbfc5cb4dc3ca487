import type { Page } from 'playwright-core'
import type { StartedDeviceLogin } from '../../../generated/sdk/index.js'
import { linkOf } from '../mailbox.ts'
import { startAtOwnAddress } from '../own-address.ts'
import { mailTokenOf } from '../people.ts'
import type { TestService } from '../service.ts'
import { startBrowser } from './browser.ts'

export const ADA = 'ada@example.com'

/** How long the browser may take for one step; generous, for a busy machine. */
const STEP_TIMEOUT_MS = 20_000

type PageOptions = { readonly javaScript?: boolean }

/** A login that has started. */
type StartedLogin = StartedDeviceLogin & {
  /** The link of its email. */
  readonly link: string
  /** The status of a poll, after the interval between polls has passed. */
  poll(): Promise<number>
}

/** A service at its own public address, which browsers need for passkeys and cookies, and a browser. */
export type BrowserService = AsyncDisposable & {
  readonly service: TestService
  readonly baseUrl: string
  /** Opens a page in a new profile. Scripts run unless `javaScript` is false. */
  newPage(options?: PageOptions): Promise<Page>
  /** Opens an empty page in a new profile that has the cookies of a sign-in as Ada by the link of an email. */
  signedInPage(options?: PageOptions): Promise<Page>
  /** Starts a login of Ada. */
  startLogin(deviceId?: string): Promise<StartedLogin>
}

export async function startBrowserService(): Promise<BrowserService> {
  const [browser, service] = await Promise.all([startBrowser(), startAtOwnAddress()])

  const newPage: BrowserService['newPage'] = async (options = {}) => {
    const page = await browser.newPage({ width: 800, scheme: 'light', ...options })
    page.setDefaultTimeout(STEP_TIMEOUT_MS)
    return page
  }
  const startLogin: BrowserService['startLogin'] = async (deviceId = 'laptop-1') => {
    const login = await service.startLogin(ADA, { deviceId, deviceName: 'Ada’s laptop' })
    const link = linkOf(service.mailbox.newest(ADA)).href
    const poll = async () => {
      service.clock.advance({ seconds: 5 })
      const { response } = await service.client.POST('/v1/auth/device/poll', { body: { deviceCode: login.deviceCode } })
      return response.status
    }
    return { ...login, link, poll }
  }
  return {
    service,
    baseUrl: service.config.baseUrl,
    newPage,
    startLogin,
    async signedInPage(options) {
      const page = await newPage(options)
      await startLogin('browser')
      const fields = { headers: { accept: 'text/html' }, form: { token: mailTokenOf(service, ADA) } }
      const answer = await page.request.post(`${service.config.baseUrl}/v1/auth/magic/consume`, fields)
      if (!answer.ok()) throw new Error(`The sign-in was refused: ${answer.status()} ${await answer.text()}`)
      return page
    },
    async [Symbol.asyncDispose]() {
      await browser[Symbol.asyncDispose]()
      await service[Symbol.asyncDispose]()
    },
  }
}
