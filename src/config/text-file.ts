import { lstatSync, readFileSync } from 'node:fs'
import { hasCode } from '../kernel/error-code.ts'

/** Reads a file that a setting names. `problem`: why it cannot be read, to follow its name. */
export function readTextFile(file: string): { readonly text: string } | { readonly problem: string } {
  try {
    // Some of these files are read again. Until a program writes into the pipe, the process would stand still.
    // Not `stat`: process substitution of a shell, `<(...)`, makes a link to a pipe, which ends.
    if (lstatSync(file).isFIFO()) return { problem: 'cannot be read: it is a named pipe' }
    return { text: readFileSync(file, 'utf8') }
  } catch (error) {
    return { problem: explainUnreadable(error) }
  }
}

/** Why a file that a setting names cannot be read, to follow its name. */
export function explainUnreadable(error: unknown): string {
  if (hasCode(error, 'EACCES')) return 'cannot be read by the user of this process'
  return hasCode(error, 'ENOENT') ? 'cannot be read: it does not exist' : 'cannot be read'
}
