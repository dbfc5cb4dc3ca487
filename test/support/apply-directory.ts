import { readFile } from 'node:fs/promises'
import path from 'node:path'
import type { Database } from '../../src/database/client.ts'
import { readDirectoryFile } from '../../src/directory/rules.ts'
import { makeDirectoryStore } from '../../src/directory/store.ts'
import type { TestClock } from './clock.ts'

/** Replaces the directory of a database by this one. Rejects with the mistakes of the text. */
export async function applyDirectory(database: Database, yaml: string, clock: TestClock): Promise<void> {
  const read = readDirectoryFile(yaml)
  if ('mistakes' in read) throw new Error(read.mistakes.join('\n'))
  await makeDirectoryStore(database).applyDirectory(read.directory, clock.now())
}

/** The text of the example directory. */
export function readExampleDirectory(): Promise<string> {
  return readFile(path.join(import.meta.dirname, '../../prisma/example-directory.yaml'), 'utf8')
}
