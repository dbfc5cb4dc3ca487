import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import { gzipSync } from 'node:zlib'
import { newFolder } from './process.ts'

/** An archive in the place of the packed command, which only `test/packages` builds and installs. */
export const COMMAND_ARCHIVE = gzipSync('the command')

/** Writes the archive into a file of its own; disposal removes it. */
export async function newCommandFile(): Promise<AsyncDisposable & { readonly path: string }> {
  const folder = await newFolder()
  const file = path.join(folder.path, 'svc-cli-0.0.0.tgz')
  await writeFile(file, COMMAND_ARCHIVE)
  return { ...folder, path: file }
}
