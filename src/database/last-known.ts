/**
 * The longest wait for one answer of the database whose last known value can be used instead. A call can wait for
 * several such answers, one after the other: of its session, of the directory and of the spending limits.
 */
const MAX_WAIT_MS = 80

/**
 * Resolves with an answer of the database, or with its last known value when the answer takes longer than 80 ms or
 * fails. A database that has stopped answering must not delay what can be served without it.
 */
export function answerOrLastKnown<T>(answer: Promise<T>, lastKnown: T): Promise<T> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => resolve(lastKnown), MAX_WAIT_MS)
    const settle = (value: T) => {
      clearTimeout(timer)
      resolve(value)
    }
    answer.then(settle, () => settle(lastKnown))
  })
}
