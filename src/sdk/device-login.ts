import type { StartDeviceLogin, StartedDeviceLogin, TokenSet } from '#openapi'
import { createClient, unwrap } from './client.ts'
import type { SvcClient } from './client.ts'
import { SvcError } from './errors.ts'
import type { Send } from './fetch.ts'
import type { TokenStore } from './session.ts'
import { wait as realWait } from './wait.ts'
import type { Wait } from './wait.ts'

export type DeviceLoginOptions = StartDeviceLogin & {
  /** The address of the deployment. */
  readonly baseUrl: string
  /** Shows the code to the person, who compares it with the mail and the page. Polling begins when it is done. */
  readonly onCode: (login: Omit<StartedDeviceLogin, 'deviceCode'>) => void | Promise<void>
  /** Where to keep the tokens; without it they are only returned. */
  readonly tokens?: TokenStore | undefined
  /** Gives the login up; it then rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined
  readonly fetch?: Send | undefined
  /** Waits between polls; timers of the runtime unless given. */
  readonly wait?: Wait | undefined
}

/** Somewhat more than the service asks for, so that no clock's haste makes a poll too early. */
const PATIENCE = 1.2

/** Polls that may fail in a row before the login is given up. */
const FAILURES = 5

/**
 * Signs this device in: starts a login, shows its code, and polls as the service says until the person has decided. Throws an `SvcError`:
 * `not_invited`, `access_denied`, `expired` and the others of the contract.
 */
export async function deviceLogin(options: DeviceLoginOptions): Promise<TokenSet> {
  const { baseUrl, onCode, tokens, signal, fetch: send, wait = realWait, ...body } = options
  const client = createClient({ baseUrl, retries: 0, ...(send && { fetch: send }) })
  const { deviceCode, ...shown } = await unwrap(client.POST('/v1/auth/device/start', { body, signal: signal ?? null }))
  await onCode(shown)
  const granted = await poll(client, deviceCode, shown.intervalSeconds, wait, signal)
  if (tokens) await tokens.exclusively(() => tokens.save(toStored(granted)))
  return granted
}

/** Waits and asks, by turns, until the answer is a decision. A service that is out of reach is asked again, ever more slowly. */
async function poll(
  client: SvcClient,
  deviceCode: string,
  intervalSeconds: number,
  wait: Wait,
  signal?: AbortSignal,
): Promise<TokenSet> {
  let seconds = intervalSeconds
  for (let failures = 0; ;) {
    await wait(seconds * PATIENCE, signal)
    try {
      return await unwrap(client.POST('/v1/auth/device/poll', { body: { deviceCode }, signal: signal ?? null }))
    } catch (error) {
      signal?.throwIfAborted()
      const { isPending, mayPass, retryAfterSeconds } = read(error)
      failures = isPending ? 0 : failures + 1
      if (!mayPass || failures > FAILURES) throw error
      seconds = Math.max(intervalSeconds * 2 ** failures, retryAfterSeconds)
    }
  }
}

/** What no answer at all and each kind of answer mean for the next poll. */
function read(error: unknown) {
  if (!(error instanceof SvcError)) return { isPending: false, mayPass: true, retryAfterSeconds: 0 }
  const isPending = error.code === 'authorization_pending' || error.code === 'rate_limited'
  return { isPending, mayPass: isPending || error.status >= 500, retryAfterSeconds: error.retryAfterSeconds ?? 0 }
}

function toStored({ account, team, deviceId, accessToken, refreshToken, expiresAt }: TokenSet) {
  return { account, team, deviceId, accessToken, refreshToken, expiresAt }
}
