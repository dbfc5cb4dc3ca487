/** Resolves after the given seconds. Rejects with the signal's reason as soon as the signal is aborted. */
export type Wait = (seconds: number, signal?: AbortSignal) => Promise<void>

export const wait: Wait = (seconds, signal) =>
  new Promise((resolve, reject) => {
    signal?.throwIfAborted()
    const stop = () => {
      clearTimeout(timer)
      // The reason may be any value of the caller; it is passed on as it is.
      reject(signal?.reason as Error)
    }
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', stop)
      resolve()
    }, seconds * 1000)
    signal?.addEventListener('abort', stop, { once: true })
  })
