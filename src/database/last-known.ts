/**
 * Resolves with an answer of the database, or with its last known value when the answer fails or takes too long.
 * `answer` must reject when it did not come from the database.
 */
export type AnswerOrLastKnown = <T>(answer: Promise<T>, lastKnown: () => T) => Promise<T>

/** The longest wait for an answer. */
const MAX_WAIT_MS = 80

/** How long a database counts as slow after a wait that was too long, unless one of its answers arrives before. */
const SLOW_MS = 1000

/**
 * Makes the function by which a process waits for answers whose last known values can be used instead. After a wait of
 * 80 ms the database counts as slow: until one of its answers arrives, or for a second, nothing waits for it. A call
 * needs several such answers, one after the other: the state of its caller, the directory and the spending limits. So
 * it waits 80 ms in all for a database that has stopped answering, and not 80 ms for each.
 */
export function makeAnswerOrLastKnown(): AnswerOrLastKnown {
  let slowUntil = -Infinity

  return async <T>(answer: Promise<T>, lastKnown: () => T) => {
    const isSlow = performance.now() < slowUntil
    const answered = answer.then((value) => {
      slowUntil = -Infinity
      return value
    }, lastKnown)
    if (isSlow) return lastKnown()
    return new Promise<T>((resolve) => {
      const timer = setTimeout(() => {
        slowUntil = performance.now() + SLOW_MS
        resolve(lastKnown())
      }, MAX_WAIT_MS)
      void answered.then((value) => {
        clearTimeout(timer)
        resolve(value)
      })
    })
  }
}
