import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { pipeline } from 'node:stream/promises'

/** In the format of `sha256sum`, so that a backup can be checked without this service. */
export const SUMS_FILE = 'SHA256SUMS'

/** Writes the checksums of all files of a backup into it. */
export async function writeSums(backup: string): Promise<void> {
  const lines = [...(await sumsOf(backup))].map(([file, sum]) => `${sum}  ${file}\n`)
  await writeFile(join(backup, SUMS_FILE), lines.join(''), { mode: 0o600 })
}

/** The first file that is missing, damaged or not part of the backup; null when the backup is whole. */
export async function findDamagedFile(backup: string): Promise<string | null> {
  const text = await readFile(join(backup, SUMS_FILE), 'utf8')
  const expected = new Map([...text.matchAll(/^([0-9a-f]{64}) {2}(.+)$/gm)].map(([, sum, file = '']) => [file, sum]))
  if (expected.size === 0) return SUMS_FILE
  const found = await sumsOf(backup)
  const files = [...expected.keys(), ...found.keys()]
  return files.find((file) => expected.get(file) !== found.get(file)) ?? null
}

async function sumsOf(backup: string): Promise<Map<string, string>> {
  const entries = await readdir(backup, { recursive: true, withFileTypes: true })
  const paths = entries.filter((entry) => entry.isFile()).map(({ parentPath, name }) => join(parentPath, name))
  const sums = new Map<string, string>()
  for (const path of paths.toSorted()) {
    const file = relative(backup, path)
    if (file !== SUMS_FILE) sums.set(file, await sumOf(path))
  }
  return sums
}

async function sumOf(path: string): Promise<string> {
  const hash = createHash('sha256')
  await pipeline(createReadStream(path), hash)
  return hash.digest('hex')
}
