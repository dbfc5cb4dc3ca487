/** Resolves at the first SIGINT or SIGTERM. A second one, of either kind, ends the process at once. */
export function interrupted(): Promise<NodeJS.Signals> {
  const signals = ['SIGINT', 'SIGTERM'] as const
  return new Promise((resolve) => {
    const stop = (signal: NodeJS.Signals) => {
      // Without a handler, Node ends the process.
      for (const one of signals) process.off(one, stop)
      resolve(signal)
    }
    for (const one of signals) process.on(one, stop)
  })
}
