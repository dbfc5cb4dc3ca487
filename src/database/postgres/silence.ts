/** Runs statements and notices when the database has stopped answering them. */
export type SilenceWatch = {
  /** Runs a statement, which includes the wait for a connection. */
  watch<T>(statement: () => Promise<T>): Promise<T>
}

type Needs = {
  readonly onSilence: () => void
  /** Whether an error says that nothing was heard from the database; any other error is an answer. */
  readonly isTimeout: (error: unknown) => boolean
}

const TICK_MS = 100

/**
 * With no answer to any running statement for this long, the database is silent. Longer than the server's own timeout.
 */
const MAX_TICKS_WITHOUT_ANSWER = 16

/**
 * One statement may take this long, even when others are answered: longer than the waits for a connection and an
 * answer.
 */
const MAX_TICKS_OF_STATEMENT = 30

/**
 * How often a statement waits for a connection while others have results: a busy database is not a silent one. With
 * `CONNECT_TIMEOUT_MS` for each, this is at most 2.4 s.
 */
export const MAX_WAITS_FOR_CONNECTION = 2

/**
 * Makes a watch that calls `onSilence` after 1.6 s without any answer to running statements, or after 3 s without an
 * answer to one of them. It counts the ticks of a timer and not the time: when this process gets no CPU, answers may be
 * waiting unread, and then there are no ticks either.
 */
export function makeSilenceWatch({ onSilence, isTimeout }: Needs): SilenceWatch {
  const running = new Set<{ ticks: number }>()
  let ticksWithoutAnswer = 0
  /** How many statements had a result so far. */
  let results = 0
  let timer: NodeJS.Timeout | undefined

  function tick(): void {
    ticksWithoutAnswer += 1
    let oldest = 0
    for (const statement of running) oldest = Math.max(oldest, ++statement.ticks)
    if (ticksWithoutAnswer < MAX_TICKS_WITHOUT_ANSWER && oldest < MAX_TICKS_OF_STATEMENT) return
    ticksWithoutAnswer = 0
    onSilence()
  }

  function begin(): { ticks: number } {
    const statement = { ticks: 0 }
    if (running.size === 0) {
      ticksWithoutAnswer = 0
      timer = setInterval(tick, TICK_MS).unref()
    }
    running.add(statement)
    return statement
  }

  function end(statement: { ticks: number }, isAnswered: boolean): void {
    running.delete(statement)
    if (isAnswered) ticksWithoutAnswer = 0
    if (running.size === 0) clearInterval(timer)
  }

  async function runOnce<T>(run: () => Promise<T>): Promise<T> {
    const statement = begin()
    try {
      const result = await run()
      results += 1
      end(statement, true)
      return result
    } catch (error) {
      end(statement, !isTimeout(error))
      throw error
    }
  }

  return {
    async watch(run) {
      for (let waits = 1; ; waits++) {
        const before = results
        try {
          return await runOnce(run)
        } catch (error) {
          // Other statements had results meanwhile, so the queue for connections moves.
          const isMoving = results > before && waits < MAX_WAITS_FOR_CONNECTION
          if (!isMoving || !isTimeout(error)) throw error
        }
      }
    },
  }
}
