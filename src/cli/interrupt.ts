/**
 * Resolves at the first SIGINT or SIGTERM. The handlers are removed then, so a second signal ends the process at once.
 */
export function interrupted(): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => resolve(signal))
  })
}
