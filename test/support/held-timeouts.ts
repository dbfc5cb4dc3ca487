/** Timeouts that come when a test says so. */
export type HeldTimeouts = Disposable & {
  /** How many are waited for. */
  waiting(): number
  /** Lets the time of all of them be over. */
  fire(): void
}

/** Holds the timeouts of exactly this length that this process sets from now on; all others come by themselves. */
export function holdTimeouts(ms: number): HeldTimeouts {
  const held = new Map<unknown, () => void>()
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
  return {
    waiting: () => held.size,
    fire() {
      for (const [timer, run] of held) {
        clear(timer as NodeJS.Timeout)
        run()
      }
    },
    [Symbol.dispose]: () => void Object.assign(globalThis, real),
  }
}
