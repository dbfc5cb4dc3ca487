import { setImmediate as nextTurn } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/** Collects all garbage, also what only the current turn of the event loop refers to. */
export async function collectGarbage(): Promise<void> {
  setFlagsFromString('--expose-gc')
  // V8 defines it because of the flag.
  const collect = runInNewContext('gc') as () => void
  for (let turn = 0; turn < 3; turn += 1) {
    await nextTurn()
    collect()
  }
}

/** The bytes of the heap that are in use when garbage has been collected. */
export async function heapUsed(): Promise<number> {
  await collectGarbage()
  return process.memoryUsage().heapUsed
}
