import { AsyncLocalStorage } from 'node:async_hooks'

/** How long somebody may wait in all, however many waits it comes to. What is done in between takes nothing away. */
export type Patience = {
  /** What is left of it, in milliseconds from now; nothing at 0 and below. */
  leftMs(): number
  /** A wait begins; what it returns ends it, once. Waits side by side are one, as they are for whoever waits for all of them. */
  beginWait(): () => void
}

/** Patience for so many milliseconds of waiting, by a clock that is never set. */
export function newPatience(totalMs: number, now: () => number = () => performance.now()): Patience {
  let spentMs = 0
  let waits = 0
  let since = 0
  const runningMs = () => (waits > 0 ? now() - since : 0)

  function end(): void {
    if (waits === 1) spentMs += runningMs()
    waits -= 1
  }
  return {
    leftMs: () => totalMs - spentMs - runningMs(),
    beginWait() {
      if (waits === 0) since = now()
      waits += 1
      let isOver = false
      return () => {
        if (!isOver) end()
        isOver = true
      }
    },
  }
}

const here = new AsyncLocalStorage<Patience>()

/** Runs it with so much patience of its own: `patienceHere` has it there, and in all that is awaited there. */
export function withPatience<T>(totalMs: number, run: () => T): T {
  return here.run(newPatience(totalMs), run)
}

/** The patience of the request that this is done for; undefined where it is done for none, or for one that nothing bounds. */
export function patienceHere(): Patience | undefined {
  return here.getStore()
}
