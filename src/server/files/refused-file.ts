import { readFile } from 'node:fs/promises'
import { isNamedPipe } from '../../config/text-file.ts'
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
    if (isNamedPipe(file)) throw new Error(NAMED_PIPE)
    return await readFile(file, 'utf8')
  } catch (error) {
    const reason = error instanceof Error ? error.message : 'unknown'
    throw new RefusedFileError(what, file, [`It cannot be read: ${reason}.`])
  }
}

const NAMED_PIPE = 'it is a named pipe. Name a regular file, because a reload reads it again'
