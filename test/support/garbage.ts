import { setImmediate as nextTurn } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/**
 * Collects all garbage, also what only the current turn of the event loop refers to. Where other files have run before,
 * it takes half a second of CPU time.
 */
export async function collectGarbage(): Promise<void> {
  setFlagsFromString('--expose-gc')
  // V8 defines it because of the flag.
  const collect = runInNewContext('gc') as () => void
  await nextTurn()
  collect()
}

/** The bytes of the heap that are in use when garbage has been collected. */
export async function heapUsed(): Promise<number> {
  await collectGarbage()
  return process.memoryUsage().heapUsed
}

/** The bytes of buffers, which are outside of the heap, when garbage has been collected. */
export async function bytesOutsideHeap(): Promise<number> {
  await collectGarbage()
  return process.memoryUsage().arrayBuffers
}
