import { readFile } from 'node:fs/promises'
import { describeChanges, findRefusal } from '../../directory/change-rules.ts'
import type { DirectoryChanges } from '../../directory/change-rules.ts'
import type { Directory } from '../../directory/rules.ts'
import type { ReadSecret } from '../../kernel/credentials/secret-source.ts'
import { OperatorError } from '../../kernel/operator-error.ts'
import type { Logger } from '../../log.ts'
import type { Service } from '../compose.ts'
import { readDirectoryText } from './directory-reader.ts'

/**
 * The directory file cannot be read, has mistakes, or is refused because of what it would change. The message says why.
 */
export class DirectoryFileError extends OperatorError {
  override readonly name = 'DirectoryFileError'

  constructor(file: string, mistakes: readonly string[]) {
    super(`The directory file ${file} was not applied:\n${mistakes.map((mistake) => `  ${mistake}`).join('\n')}`)
  }
}

type Needs = {
  readonly file: string
  /** Reads the credentials of backends; null where they are not needed. */
  readonly readSecret: ReadSecret | null
  readonly service: Pick<Service, 'applyDirectory'>
  /** Apply the file even when it withdraws most of the members. */
  readonly force: boolean
  readonly log: Logger
}

/**
 * Applies the directory file as a whole, and resolves with a sentence that says what has changed. When it is refused,
 * nothing changes, and this rejects with a `DirectoryFileError`.
 */
export async function applyDirectoryFile({ file, readSecret, service, force, log }: Needs): Promise<string> {
  const judge = (changes: DirectoryChanges) => {
    const refusal = force ? null : findRefusal(changes)
    if (refusal) throw new DirectoryFileError(file, [refusal])
  }
  const changes = await service.applyDirectory(await loadDirectoryFile(file, readSecret), judge)
  log.info({ file, ...changes }, 'directory.applied')
  return `The directory file ${file} was applied${changes ? `: ${describeChanges(changes)}` : ''}.`
}

/** Rejects with a `DirectoryFileError`. With `readSecret`, a credential that cannot be read is a mistake too. */
async function loadDirectoryFile(file: string, readSecret: ReadSecret | null): Promise<Directory> {
  const text = await readFile(file, 'utf8').catch((error: unknown) => {
    throw new DirectoryFileError(file, [`It cannot be read: ${error instanceof Error ? error.message : 'unknown'}.`])
  })
  const read = await readDirectoryText(text, readSecret)
  if ('mistakes' in read) throw new DirectoryFileError(file, read.mistakes)
  return read.directory
}
