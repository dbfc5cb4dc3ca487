/** Timeouts that come when a test says so. */
export type HeldTimeouts = Disposable & {
  /** How many are waited for. */
  waiting(): number
  /** Lets the time of all of them be over. */
  fire(): void
}

/** Holds the timeouts of exactly this length that this process sets from now on; all others come by themselves. */
export function holdTimeouts(ms: number): HeldTimeouts {
  const held = new Map<NodeJS.Timeout | undefined, () => void>()
  const real = { setTimeout: globalThis.setTimeout, clearTimeout: globalThis.clearTimeout }
  const set = (run: (...given: unknown[]) => void, delay?: number, ...given: unknown[]) => {
    const timer = real.setTimeout(run, delay, ...given)
    if (delay === ms) held.set(timer, () => run(...given))
    return timer
  }
  const clear = (timer?: NodeJS.Timeout) => {
    held.delete(timer)
    real.clearTimeout(timer)
  }
  Object.assign(globalThis, { setTimeout: set, clearTimeout: clear })
  // On a busy machine they would come by themselves before the test has got so far. Afterwards they are ordinary timeouts again.
  const holding = setInterval(() => held.forEach((_, timer) => timer?.refresh()), ms / 10)
  return {
    waiting: () => held.size,
    fire() {
      for (const [timer, run] of held) {
        clear(timer)
        run()
      }
    },
    [Symbol.dispose]() {
      clearInterval(holding)
      Object.assign(globalThis, real)
    },
  }
}
