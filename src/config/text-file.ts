import { lstatSync, readFileSync } from 'node:fs'
import { hasCode } from '../kernel/error-code.ts'

/** Reads a file that a setting names. `problem`: why it cannot be read, to follow its name. */
export function readTextFile(file: string): { readonly text: string } | { readonly problem: string } {
  try {
    if (isNamedPipe(file)) return { problem: 'cannot be read: it is a named pipe' }
    return { text: readFileSync(file, 'utf8') }
  } catch (error) {
    return { problem: explainUnreadable(error) }
  }
}

/**
 * Whether a file is a named pipe. Such a file cannot be read again: the reader would wait until a program writes into
 * it. A symbolic link to a pipe counts as none, because process substitution of a shell, `<(...)`, makes one. Throws
 * the error of the system when there is no such file.
 */
export function isNamedPipe(file: string): boolean {
  return lstatSync(file).isFIFO()
}

/** Why a file that a setting names cannot be read, to follow its name. */
export function explainUnreadable(error: unknown): string {
  if (hasCode(error, 'EACCES')) return 'cannot be read by the user of this process'
  return hasCode(error, 'ENOENT') ? 'cannot be read: it does not exist' : 'cannot be read'
}
