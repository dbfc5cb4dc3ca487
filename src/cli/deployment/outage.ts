import { stat } from 'node:fs/promises'
import { systemClock } from '../../kernel/clock.ts'
import { unlessMissing } from '../../kernel/error-code.ts'
import { readText, rewriteFile } from '../../sdk/node-files.ts'
import type { TokenStore } from '../../sdk/index.ts'
import { UnreachableError } from '../failures.ts'

/** After the control plane could not be reached, no process of this person waits for it again for this long. */
const OUTAGE_MS = 30_000

/**
 * A token store that remembers in a file when the control plane could not be reached. Agents start several commands
 * that print a token at the same time. These wait for each other, so without the file each one would wait for the
 * control plane again, and the agent would give up.
 */
export function withOutages(tokens: TokenStore, file: string): TokenStore {
  return {
    ...tokens,
    // The file is read under the lock: another process may have tried while this one has waited.
    exclusively: (task) => tokens.exclusively(() => unlessOutage(file, task)),
  }
}

/**
 * Runs a task that asks the control plane, and remembers when it could not be reached. While that is remembered, throws
 * the same `UnreachableError` at once.
 */
export async function unlessOutage<T>(file: string, task: () => Promise<T>): Promise<T> {
  const reason = await findOutage(file)
  if (reason !== null) throw new UnreachableError(reason)
  return task().catch(async (error: unknown) => {
    // A disk that is full or read-only must not hide the reason.
    if (error instanceof UnreachableError) await rewriteFile(file, error.message).catch(() => undefined)
    throw error
  })
}

/** Why the control plane could not be reached; null when that was long ago. */
async function findOutage(file: string): Promise<string | null> {
  const noted = await unlessMissing(stat(file), null)
  const ageMs = noted ? systemClock.now().getTime() - noted.mtimeMs : Infinity
  return Math.abs(ageMs) < OUTAGE_MS ? readText(file) : null
}
