import { readlinkSync } from 'node:fs'
import { constants, getPriority, setPriority } from 'node:os'
import { basename } from 'node:path'

const PRIORITY = constants.priority.PRIORITY_BELOW_NORMAL

/** Lets other threads go first where they need the same core as the calling thread. Only Linux can do this. */
export function lowerThreadPriority(): void {
  try {
    // A link such as `4711/task/4712`.
    const thread = Number(basename(readlinkSync('/proc/thread-self')))
    if (getPriority(thread) < PRIORITY) setPriority(thread, PRIORITY)
  } catch {
    // Other systems have no such link. Then the thread keeps its priority.
  }
}
