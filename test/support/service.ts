import { createClient } from '../../generated/sdk/index.js'
import type { StartedDeviceLogin, SvcClient, TokenSet } from '../../generated/sdk/index.js'
import { readConfig } from '../../src/config.ts'
import type { Config } from '../../src/config/values.ts'
import type { Database } from '../../src/database/client.ts'
import { openMailer } from '../../src/mail.ts'
import { SERVER_TIMEOUTS } from '../../src/server/listener.ts'
import type { ServerTimeouts } from '../../src/server/listener.ts'
import { listen } from '../../src/server/running.ts'
import type { Running } from '../../src/server/running.ts'
import { openCountedLog } from '../../src/server/serve.ts'
import { applyDirectory, readExampleDirectory } from './apply-directory.ts'
import { checkedFetch } from './contract/checked-fetch.ts'
import { testClock } from './clock.ts'
import type { TestClock } from './clock.ts'
import { freshDatabase } from './database.ts'
import { mailToken, openMailbox } from './mailbox.ts'
import type { Mailbox } from './mailbox.ts'
import { recordingLog } from './recording-log.ts'
import type { LogLine } from './recording-log.ts'
import { expectData, expectOk } from './requests.ts'
import { waitUntil } from './wait.ts'

/** The public address in links. Requests go to `TestService.origin`, where the service really listens. */
export const BASE_URL = 'http://localhost:8787'

export type TestService = AsyncDisposable & {
  readonly config: Config
  readonly port: number
  readonly metricsPort: number | null
  /** Where requests go: `http://127.0.0.1:PORT`. */
  readonly origin: string
  readonly clock: TestClock
  readonly database: Database
  readonly mailbox: Mailbox
  readonly log: readonly LogLine[]
  /** The generated SDK without a credential. Each answer is checked against the contract. */
  readonly client: SvcClient
  /** The generated SDK with an access token. */
  clientOf(accessToken: string): SvcClient
  /** `fetch` on a path of the service. Each answer is checked against the contract. */
  fetch(path: string, init?: RequestInit): Promise<Response>
  startLogin(
    email: string,
    fields?: { deviceId?: string; deviceName?: string; team?: string },
  ): Promise<StartedDeviceLogin>
  /** Approves by the link of the newest email to an address; rejects with status and body when that is refused. */
  approveByMail(email: string): Promise<Response>
  /** The whole login: start, approve by email, poll; rejects with the status and body of a step that is refused. */
  signIn(email: string, fields?: { deviceId?: string; deviceName?: string; team?: string }): Promise<TokenSet>
  /** Replaces the directory. */
  applyDirectory(yaml: string): Promise<void>
}

type Given = {
  /** Settings, besides the defaults of all tests. */
  readonly env?: Readonly<Record<string, string>>
  readonly directory?: string
  readonly database?: Database
  readonly mail?: boolean
  readonly clock?: TestClock
  /** Timeouts of the HTTP server that differ from production. */
  readonly timeouts?: Partial<ServerTimeouts>
}

/** Starts the whole service on a free port, with its own database, mailbox and clock. */
export async function startService({
  env = {},
  directory,
  database,
  mail = true,
  clock = testClock(),
  timeouts = {},
}: Given = {}): Promise<TestService> {
  const mailbox = await openMailbox()
  const config = readConfig({
    SVC_BASE_URL: BASE_URL,
    SVC_PORT: '0',
    // No limits, so that tests may start any number of logins; tests of the limits set them.
    SVC_LIMIT_STARTS_PER_IP: '0',
    SVC_LIMIT_MAILS_PER_ADDRESS: '0',
    SVC_LIMIT_USER_CODES: '0',
    ...(mail && { SVC_MAIL_URL: mailbox.url }),
    ...env,
  })
  const lines: LogLine[] = []
  const db = database ?? (await freshDatabase())
  const { log, eventMetrics } = await openCountedLog(config, recordingLog(lines))
  // On a busy machine, a first connection can take longer than a statement waits for it.
  await waitUntil('the database', () => db.ping(), Boolean)
  await applyDirectory(db, directory ?? (await readExampleDirectory()), clock)
  const mailer = config.mail && openMailer(config.mail, log)
  const running = await listen(
    config,
    { database: db, mailer, clock, log, eventMetrics },
    { ...SERVER_TIMEOUTS, stopLinger: 0, ...timeouts },
  )
  return toService({ config, clock, database: db, mailbox, lines, running })
}

type Parts = {
  readonly config: Config
  readonly clock: TestClock
  readonly database: Database
  readonly mailbox: Mailbox
  readonly lines: readonly LogLine[]
  readonly running: Running
}

function toService({ config, clock, database, mailbox, lines, running }: Parts): TestService {
  const origin = `http://127.0.0.1:${running.port}`
  // No retries, because tests assert each refusal.
  const client = createClient({ baseUrl: origin, fetch: checkedFetch, retries: 0 })

  const startLogin: TestService['startLogin'] = async (email, fields = {}) => {
    const started = await client.POST('/v1/auth/device/start', {
      body: { email, deviceId: 'laptop-1', deviceName: 'Laptop', ...fields },
    })
    return expectData('The start of the login', started)
  }
  const approveByMail: TestService['approveByMail'] = (email) => {
    const token = mailToken(mailbox.newest(email))
    const consume = { method: 'POST', body: new URLSearchParams({ token }) }
    return expectOk('The approval by email', checkedFetch(`${origin}/v1/auth/magic/consume`, consume))
  }
  return {
    config,
    port: running.port,
    metricsPort: running.metricsPort,
    origin,
    clock,
    database,
    mailbox,
    log: lines,
    client,
    clientOf: (accessToken) => createClient({ baseUrl: origin, fetch: checkedFetch, retries: 0, accessToken }),
    fetch: (pathname, init) => checkedFetch(origin + pathname, init),
    startLogin,
    approveByMail,
    async signIn(email, fields) {
      const { deviceCode } = await startLogin(email, fields)
      await approveByMail(email)
      return expectData('The poll', await client.POST('/v1/auth/device/poll', { body: { deviceCode } }))
    },
    applyDirectory: (yaml) => applyDirectory(database, yaml, clock),
    async [Symbol.asyncDispose]() {
      await running.stop()
      await mailbox[Symbol.asyncDispose]()
    },
  }
}
