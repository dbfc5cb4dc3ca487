import pino from 'pino'
import { systemClock } from './kernel/clock.ts'

/** Writes one line for each event: its fields, then its name. */
export type Logger = {
  debug(fields: object, event: string): void
  info(fields: object, event: string): void
  warn(fields: object, event: string): void
  error(fields: object, event: string): void
}

export type LogLevel = 'debug' | 'info' | 'warn' | 'error' | 'silent'

/**
 * This service's secrets and JWTs, which are removed from every line: a driver's message or a stack could contain one.
 * The header of a JWT is shorter than 300 characters; without a limit, a text of many `eyJ` would take quadratic time.
 */
const SECRET_PATTERN = /svc[a-z]_[A-Za-z0-9_-]{8,}|eyJ[\w-]{1,300}\.[\w-]+\.[\w-]+/g

/**
 * When the reader of stdout does not keep up, at most 16 MB are kept, and further lines are dropped. With `minLength`
 * 0, `flush` would not wait until the lines are written.
 */
const DESTINATION = { dest: 1, sync: false, minLength: 1, maxLength: 16_777_216 } as const

/** Lines are written together, because a write for each costs as much as a tenth of a model call. */
const CHUNK = { characters: 65_536, delayMs: 100 } as const

/** How long the reader of stdout may take to accept the last lines. */
const CLOSE_TIMEOUT_MS = 1000

/** The log of the process. */
export type Log = Logger & {
  /** Writes a line that contains a secret: the link of an email in a developer's outbox. */
  showLink(fields: { link: string; file: string }, event: string): void
  /** Writes the buffered lines; false when the reader of stdout does not accept them within a second. */
  close(): Promise<boolean>
}

/**
 * Opens the log on stdout: JSON lines, or readable ones on a terminal. Buffered lines are written at exit. With `pid`,
 * each line says which of several processes has written it.
 */
export async function openLog(level: LogLevel, pid: number | null = null): Promise<Log> {
  const { redacted, exact } = await openStreams()
  const options = { level, timestamp: makeTimestamp(), base: pid === null ? null : { pid } }
  const log = pino(options, redacted)
  const unredacted = pino(options, exact)
  return {
    debug: (fields, event) => log.debug(fields, event),
    info: (fields, event) => log.info(fields, event),
    warn: (fields, event) => log.warn(fields, event),
    error: (fields, event) => log.error(fields, event),
    showLink: (fields, event) => unredacted.info(fields, event),
    close: () =>
      new Promise((resolve) => {
        const timer = setTimeout(resolve, CLOSE_TIMEOUT_MS, false)
        log.flush(() => {
          clearTimeout(timer)
          resolve(true)
        })
      }),
  }
}

type LineStream = { write(line: string): void; flush?(onEnd: () => void): void }

/** Opens stdout: `redacted` removes secrets from lines, and `exact` is for lines that must show one. */
async function openStreams(): Promise<{ redacted: LineStream; exact: LineStream }> {
  const { stdout } = process
  if (!stdout.isTTY) return collectLines(openDestination())
  const exact = (await import('pino-pretty')).default({ destination: stdout, sync: true })
  return { redacted: { write: (line) => void exact.write(redact(line)) }, exact }
}

type Destination = ReturnType<typeof pino.destination>

/**
 * Opens stdout. When it cannot be written, for example because its disk is full, the service goes on: lines wait, and
 * further ones are dropped. Without a listener, the error would end the process.
 */
function openDestination(): Destination {
  const destination = pino.destination(DESTINATION)
  let isFailing = false
  destination.on('error', () => (isFailing = true))
  destination.on('write', () => (isFailing = false))
  // Before pino's own listener, which would try to write the last lines until it can.
  process.prependListener('exit', () => {
    if (isFailing) destination.destroy()
  })
  return destination
}

/**
 * Collects lines and writes many at once. The destination could collect them too, but it copies all that it has
 * collected for each further line.
 */
function collectLines(destination: Destination): { redacted: LineStream; exact: LineStream } {
  let lines: string[] = []
  let characters = 0
  let timer: NodeJS.Timeout | null = null
  const writeCollected = () => {
    if (timer) clearTimeout(timer)
    timer = null
    if (lines.length === 0) return
    destination.write(redact(lines.join('')))
    lines = []
    characters = 0
  }
  // Before pino's own listeners, which write out what the destination has.
  process.prependListener('beforeExit', writeCollected)
  process.prependListener('exit', writeCollected)
  return {
    redacted: {
      write(line) {
        lines.push(line)
        characters += line.length
        if (characters >= CHUNK.characters) writeCollected()
        else timer ??= setTimeout(writeCollected, CHUNK.delayMs).unref()
      },
      flush(onEnd) {
        writeCollected()
        destination.flush(() => onEnd())
      },
    },
    exact: {
      write(line) {
        writeCollected()
        destination.write(line)
      },
    },
  }
}

function redact(lines: string): string {
  return lines.replace(SECRET_PATTERN, '[secret]')
}

/**
 * Makes pino's timestamp (RFC 3339, UTC). It formats date and time once a second, which saves two microseconds a line.
 */
function makeTimestamp(): () => string {
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
