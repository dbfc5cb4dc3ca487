/** Resolves after the given seconds. Rejects with the signal's reason as soon as the signal is aborted. */
export type Wait = (seconds: number, signal?: AbortSignal) => Promise<void>

/** Timers fire at once for a longer time. */
const MAX_TIMER_MS = 2 ** 31 - 1

export const wait: Wait = (seconds, signal) =>
  new Promise((resolve, reject) => {
    signal?.throwIfAborted()
    const stop = () => {
      clearTimeout(timer)
      // It may be any value of the caller.
      reject(signal?.reason as Error)
    }
    const end = () => {
      signal?.removeEventListener('abort', stop)
      resolve()
    }
    const timer = setTimeout(end, Math.min(seconds * 1000, MAX_TIMER_MS))
    signal?.addEventListener('abort', stop, { once: true })
  })
