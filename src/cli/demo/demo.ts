import path from 'node:path'
import { readConfig } from '../../config.ts'
import { systemClock } from '../../kernel/clock.ts'
import { openLog } from '../../log.ts'
import { serve } from '../../server/serve.ts'
import { startEchoEngine } from './echo-engine.ts'
import { nextSteps } from './next-steps.ts'
import { takeTour } from './tour.ts'
import type { OutboxEmail } from './tour.ts'

/** The person whom the example directory file invites. */
const EMAIL = 'ada@example.com'

/** Everything that the demo stores, relative to the working directory. */
const FOLDER = path.join('.data', 'demo')

const EXAMPLE_DIRECTORY = path.join(import.meta.dirname, '../../../prisma/example-directory.yaml')

type Options = {
  /** End after the tour. */
  readonly once: boolean
  readonly print: (text: string) => void
  /** Resolves when the demo is to stop. */
  readonly interrupted: () => Promise<unknown>
}

/**
 * Starts the service and an echo engine, walks through a login and calls, and keeps serving. Throws a `TourError` when
 * a step fails.
 */
export async function runDemo({ once, print, interrupted }: Options): Promise<void> {
  const echo = await startEchoEngine()
  const config = readConfig(undefined, settingsOfDemo(echo.url))
  const log = await openLog(config.logLevel)
  let lastEmail: OutboxEmail | null = null
  // The tour shows the links of its own emails.
  let onTour = true
  const showLink = (email: OutboxEmail) => {
    lastEmail = email
    if (!onTour) print(`\nThe service wrote an email. Its link:\n  ${email.link}\n`)
  }
  const running = await serve(config, { clock: systemClock, log: { ...log, showLink } })
  try {
    print(`svc is up at ${config.baseUrl}. ${describeEngine(config.engine?.url, echo.url)}\n`)
    const tokens = await takeTour({ baseUrl: config.baseUrl, email: EMAIL, lastEmail: () => lastEmail, print })
    onTour = false
    print('\nEvery step worked.\n')
    if (!once) {
      print(nextSteps({ ...config, tokens }))
      await interrupted()
    }
  } finally {
    await running.stop()
    await echo.close()
    await log.close()
  }
}

/** The default settings of the demo; the environment overrides them. */
function settingsOfDemo(echoUrl: string) {
  return {
    SVC_DATABASE_URL: `embedded:${path.join(FOLDER, 'db')}`,
    SVC_MAIL_URL: `outbox:${path.join(FOLDER, 'outbox')}`,
    SVC_DIRECTORY_FILE: EXAMPLE_DIRECTORY,
    SVC_LOCAL_ENGINE_URL: echoUrl,
    SVC_LOG_LEVEL: 'warn',
    // 12 hours: the printed token is for trying things out.
    SVC_ACCESS_TOKEN_SECONDS: '43200',
  }
}

function describeEngine(url: URL | undefined, echoUrl: string): string {
  return url?.href === new URL(echoUrl).href
    ? 'Its local worker is an ECHO ENGINE, which repeats what you say: no model runs in it.'
    : `Its local worker is the inference server at ${url?.href}.`
}
