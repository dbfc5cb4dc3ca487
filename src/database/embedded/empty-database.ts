import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { brotliDecompressSync } from 'node:zlib'

/**
 * The files of an embedded database without rows, as a compressed tar archive. It has the migrations of the day on
 * which `npm run release:database` wrote it, and each start applies newer ones.
 */
export const emptyDatabaseFile = fileURLToPath(new URL('../../../prisma/empty-database.tar.br', import.meta.url))

/** The tar archive with the files of an empty database. */
export function readEmptyDatabase(): Buffer<ArrayBuffer> {
  return brotliDecompressSync(readFileSync(emptyDatabaseFile))
}

/** Writes the files of an empty database into a directory that does not exist yet. Only this user can read them. */
export function writeEmptyDatabase(directory: string): void {
  mkdirSync(directory, { mode: 0o700 })
  for (const { name, isDirectory, data } of readTar(readEmptyDatabase())) {
    const path = join(directory, name)
    if (isDirectory) mkdirSync(path, { recursive: true, mode: 0o700 })
    else writeFileSync(path, data, { mode: 0o600 })
  }
}

type Entry = { readonly name: string; readonly isDirectory: boolean; readonly data: Buffer }

const BLOCK_BYTES = 512

/** The entries of an archive in the format ustar (POSIX.1-1988), whose names are shorter than 100 bytes here. */
function* readTar(tar: Buffer): Generator<Entry> {
  const readText = (start: number, end: number) => tar.toString('latin1', start, end).replace(/\0.*$/s, '')
  // An archive ends with blocks of zeros.
  for (let at = 0; tar[at];) {
    const size = Number.parseInt(readText(at + 124, at + 136), 8)
    const isDirectory = readText(at + 156, at + 157) === '5'
    const start = at + BLOCK_BYTES
    yield { name: readText(at, at + 100), isDirectory, data: tar.subarray(start, start + size) }
    at = start + Math.ceil(size / BLOCK_BYTES) * BLOCK_BYTES
  }
}
