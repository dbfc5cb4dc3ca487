import path from 'node:path'
import { readConfig } from '../../config.ts'
import { systemClock } from '../../kernel/clock.ts'
import { openLog } from '../../log.ts'
import { serve } from '../../server/serve.ts'
import { startEchoEngine } from './echo-engine.ts'
import { clientSettings } from './settings.ts'
import { takeTour } from './tour.ts'

/** The person that the example directory invites. */
const EMAIL = 'ada@example.com'

/** Everything that the demo keeps. */
const FOLDER = path.join('.data', 'demo')
const OUTBOX = path.join(FOLDER, 'outbox')

const EXAMPLE_DIRECTORY = path.join(import.meta.dirname, '../../../prisma/example-directory.yaml')

type Options = {
  /** Ends after the tour. */
  readonly once: boolean
  readonly print: (text: string) => void
  /** Resolves when the operator has seen enough. */
  readonly interrupted: () => Promise<unknown>
}

/** Starts the service beside an echo engine, walks through it, and keeps it up. Rejects when a step of the tour fails. */
export async function runDemo({ once, print, interrupted }: Options): Promise<void> {
  const echo = await startEchoEngine()
  const config = readConfig(undefined, {
    SVC_DATABASE_URL: `embedded:${path.join(FOLDER, 'db')}`,
    SVC_MAIL_URL: `outbox:${OUTBOX}`,
    SVC_DIRECTORY_FILE: EXAMPLE_DIRECTORY,
    SVC_LOCAL_ENGINE_URL: echo.url,
    SVC_LOG_LEVEL: 'warn',
  })
  const log = openLog(config.logLevel)
  const quietLog = { ...log, showLink() {} }
  const running = await serve(config, { clock: systemClock, log: quietLog })
  try {
    print(`svc is up at ${config.baseUrl}. Its local worker is ${workerName(config.engine?.url, echo.url)}.\n`)
    const tokens = await takeTour({ baseUrl: config.baseUrl, email: EMAIL, outbox: OUTBOX, print })
    print('\nEvery step worked.\n')
    if (!once) {
      print(clientSettings(config.gatewayUrl, tokens))
      print('\nStill serving; Ctrl-C ends it.\n')
      await interrupted()
    }
  } finally {
    await running.stop()
    await echo.close()
    log.flush()
  }
}

function workerName(url: URL | undefined, echoUrl: string): string {
  return url?.href === new URL(echoUrl).href
    ? 'an ECHO ENGINE: it repeats what it is told, no model thinks here'
    : `at ${url?.href}`
}
