/** Timeouts of one length that end only when a test says so. */
export type HeldTimeouts = Disposable & {
  /** The number of timeouts that are set and have neither ended nor been cleared. */
  waiting(): number
  /** Ends all of them now. */
  fire(): void
}

/**
 * Holds the timeouts of exactly `ms` milliseconds that this process sets from now on. Other timeouts are not changed.
 */
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
  // Refreshed, so that they do not end by themselves on a busy machine. After disposal they are ordinary timeouts
  // again.
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
