import { readFile } from 'node:fs/promises'
import { readDirectoryFile } from '../directory/rules.ts'
import type { Directory } from '../directory/rules.ts'
import type { ReadSecret } from '../kernel/secret-source.ts'

/** The directory file cannot be read or has mistakes. The message lists all of them. */
export class DirectoryFileError extends Error {
  constructor(file: string, mistakes: readonly string[]) {
    super(`The directory file ${file} has mistakes:\n${mistakes.map((mistake) => `  ${mistake}`).join('\n')}`)
    this.name = 'DirectoryFileError'
  }
}

/**
 * Reads the directory file. Rejects with a `DirectoryFileError`. With `readSecret`, a credential that cannot be read is
 * a mistake too.
 */
export async function loadDirectoryFile(file: string, readSecret: ReadSecret | null): Promise<Directory> {
  const text = await readFile(file, 'utf8').catch((error: unknown) => {
    throw new DirectoryFileError(file, [`It cannot be read: ${error instanceof Error ? error.message : 'unknown'}.`])
  })
  const read = readDirectoryFile(text, readSecret)
  if ('mistakes' in read) throw new DirectoryFileError(file, read.mistakes)
  return read.directory
}
