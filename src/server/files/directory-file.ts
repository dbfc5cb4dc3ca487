import { describeChanges, findRefusal } from '../../directory/change-rules.ts'
import type { DirectoryChanges } from '../../directory/change-rules.ts'
import type { Directory } from '../../directory/rules.ts'
import type { ReadSecret } from '../../kernel/credentials/secret-source.ts'
import type { Logger } from '../../log.ts'
import type { Service } from '../compose.ts'
import { findSharedFile, shareFile } from '../processes/shared-files.ts'
import { readDirectoryText } from './directory-reader.ts'
import { readText, RefusedFileError } from './refused-file.ts'

type Needs = {
  readonly file: string
  /** Reads the credentials of backends; null where they are not needed. */
  readonly readSecret: ReadSecret | null
  readonly service: Pick<Service, 'applyDirectory'>
  /** Apply the file even when it withdraws most of the members. */
  readonly force: boolean
  /** Whether a process that replaces this one may need it, because there is no database. */
  readonly isShared: boolean
  readonly log: Logger
}

/**
 * Applies the directory file as a whole, and resolves with a sentence that says what has changed. When it is refused,
 * nothing changes, and this rejects with a `RefusedFileError`.
 */
export async function applyDirectoryFile({ file, readSecret, service, force, isShared, log }: Needs): Promise<string> {
  const judge = (changes: DirectoryChanges) => {
    const refusal = force ? null : findRefusal(changes)
    if (refusal) throw new RefusedFileError('directory file', file, [refusal])
  }
  const text = await readText('directory file', file)
  const changes = await service.applyDirectory(await parseDirectory(file, text, readSecret), judge)
  if (isShared) shareFile('directory', text)
  log.info({ file, ...changes }, 'directory.applied')
  return `The directory file ${file} was applied${changes ? `: ${describeChanges(changes)}` : ''}.`
}

/**
 * Applies the directory that the processes before this one use, in a process without a database. Resolves with false
 * when there is none. A backend whose credential cannot be read any more is not called, and the log names it.
 */
export async function applySharedDirectory({ file, service }: Pick<Needs, 'file' | 'service'>): Promise<boolean> {
  const text = await findSharedFile('directory')
  if (text !== null) await service.applyDirectory(await parseDirectory(file, text, null))
  return text !== null
}

/** Rejects with a `RefusedFileError`. With `readSecret`, a credential that cannot be read is a mistake too. */
async function parseDirectory(file: string, text: string, readSecret: ReadSecret | null): Promise<Directory> {
  const read = await readDirectoryText(text, readSecret)
  if ('mistakes' in read) throw new RefusedFileError('directory file', file, read.mistakes)
  return read.directory
}
