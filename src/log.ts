import pino from 'pino'
import pretty from 'pino-pretty'
import { systemClock } from './kernel/clock.ts'

/** One line per event: ids and facts, then the event's name. */
export type Logger = {
  debug(fields: object, event: string): void
  info(fields: object, event: string): void
  warn(fields: object, event: string): void
  error(fields: object, event: string): void
}

export type LogLevel = 'debug' | 'info' | 'warn' | 'error' | 'silent'

/** Tokens of this service, wherever they might slip in: a driver's message, a stack. */
const OUR_SECRETS = /svc[dmrs]_[A-Za-z0-9_-]{8,}|eyJ[\w-]+\.[\w-]+\.[\w-]+/g

/** Lines leave together: a write for each costs as much as a tenth of a model call. What is buffered is written when the process exits. */
const BUFFER = { minLength: 12_288, periodicFlush: 100 } as const

/** The service's log, and one line in it that may show a secret: the link of a mail that only a developer's outbox gets. */
export type Log = Logger & { showLink(fields: { link: string; file: string }, event: string): void; flush(): void }

/** The service's log: JSON lines on stdout, readable ones on a terminal. Secrets print as `[secret]`. */
export function openLog(level: LogLevel, stdout: NodeJS.WriteStream = process.stdout): Log {
  const stream = stdout.isTTY
    ? pretty({ destination: stdout, ignore: 'pid,hostname', sync: true })
    : pino.destination({ dest: 1, sync: false, ...BUFFER })
  const options = { level, timestamp: isoTime(), base: null }
  const log = pino({ ...options, hooks: { streamWrite: (line) => line.replace(OUR_SECRETS, '[secret]') } }, stream)
  const open = pino(options, stream)
  return {
    debug: (fields, event) => log.debug(fields, event),
    info: (fields, event) => log.info(fields, event),
    warn: (fields, event) => log.warn(fields, event),
    error: (fields, event) => log.error(fields, event),
    showLink: (fields, event) => open.info(fields, event),
    flush: () => log.flush(),
  }
}

/** The time of a line (RFC 3339, UTC); the date and the second are written once a second: each time would cost nearly two microseconds. */
function isoTime(): () => string {
  let second = -1
  let text = ''
  return () => {
    const now = systemClock.now()
    const ms = now.getTime()
    if (Math.floor(ms / 1000) !== second) {
      second = Math.floor(ms / 1000)
      text = now.toISOString().slice(0, -'000Z'.length)
    }
    return `,"time":"${text}${String(ms % 1000).padStart(3, '0')}Z"`
  }
}
