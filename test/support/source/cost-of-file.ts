/** Measures the CPU time of a test file: of its worker, from before its imports, and of processes that have ended. */
import { readFileSync } from 'node:fs'
import { afterAll } from 'vitest'

declare module 'vitest' {
  interface TaskMeta {
    /** CPU time in milliseconds, see `cost-of-file.ts`. */
    workerCpuMs?: number
    childrenCpuMs?: number
  }
}

/** Linux counts in ticks of 10 ms. */
const TICK_MS = 10

/** User and system time of the children of this process that have ended (proc_pid_stat(5), cutime and cstime). */
function childrenCpuMs(): number {
  const stat = readFileSync('/proc/self/stat', 'utf8')
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return (Number(fields[13]) + Number(fields[14])) * TICK_MS
}

const workerBefore = process.cpuUsage()
const childrenBefore = childrenCpuMs()

// Vitest finds the fixtures that a hook uses by its first parameter: none.
// eslint-disable-next-line no-empty-pattern
afterAll(({}, suite) => {
  const { user, system } = process.cpuUsage(workerBefore)
  suite.meta.workerCpuMs = (user + system) / 1000
  suite.meta.childrenCpuMs = childrenCpuMs() - childrenBefore
})
