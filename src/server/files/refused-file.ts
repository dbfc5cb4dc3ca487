import { lstat, readFile } from 'node:fs/promises'
import { OperatorError } from '../../kernel/operator-error.ts'

/** The files of the operator that a start and a reload apply. */
type What = 'directory file' | 'price file'

/** The maximum number of mistakes that a message names. */
const MAX_MISTAKES = 20

/** A file of the operator was not applied: it cannot be read, has mistakes, or would change too much. */
export class RefusedFileError extends OperatorError {
  override readonly name = 'RefusedFileError'

  constructor(what: What, file: string, mistakes: readonly string[]) {
    const more = mistakes.length > MAX_MISTAKES ? [`and ${mistakes.length - MAX_MISTAKES} more`] : []
    const lines = [...mistakes.slice(0, MAX_MISTAKES), ...more].map((line) => `  ${line}`)
    super(`The ${what} ${file} was not applied:\n${lines.join('\n')}`)
  }
}

/** Reads the text of a file. Rejects with a `RefusedFileError`. */
export async function readText(what: What, file: string): Promise<string> {
  try {
    // Not `stat`: process substitution of a shell, `<(...)`, makes a link to a pipe, which ends.
    if ((await lstat(file)).isFIFO()) throw new Error(NAMED_PIPE)
    return await readFile(file, 'utf8')
  } catch (error) {
    const reason = error instanceof Error ? error.message : 'unknown'
    throw new RefusedFileError(what, file, [`It cannot be read: ${reason}.`])
  }
}

/** Until a program writes into it, a reload would wait, and so would all later ones and the end of the process. */
const NAMED_PIPE = 'it is a named pipe. Name a regular file, because a reload reads it again'
