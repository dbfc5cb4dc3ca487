let interruption: Promise<NodeJS.Signals> | null = null

/**
 * Resolves at the first SIGINT or SIGTERM since the first call. A second one, of either kind, ends the process at once.
 */
export function interrupted(): Promise<NodeJS.Signals> {
  return (interruption ??= waitForSignal(['SIGINT', 'SIGTERM']))
}

function waitForSignal(signals: readonly NodeJS.Signals[]): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    const stop = (signal: NodeJS.Signals) => {
      // Without a handler, Node ends the process.
      for (const one of signals) process.off(one, stop)
      resolve(signal)
    }
    for (const one of signals) process.on(one, stop)
  })
}
