import { randomBytes } from 'node:crypto'
import { mkdir, open, readFile, rename, rm } from 'node:fs/promises'
import type { FileHandle } from 'node:fs/promises'
import { dirname } from 'node:path'

/** Reads a file as text; null when there is none. Every error has the path of the file. */
export async function readText(file: string, encoding: BufferEncoding = 'utf8'): Promise<string | null> {
  return readFile(file, encoding).catch((error: unknown) => {
    if (hasCode(error, 'ENOENT')) return null
    throw withPath(error, file)
  })
}

/**
 * Replaces a file as a whole: a reader finds the old content or the new one, also after the machine has stopped. Makes
 * its directory where there is none. Only this user can read the file, unless `mode` says otherwise. Errors have the
 * path of this file, although another one is written first.
 */
export async function rewriteFile(file: string, content: string | Uint8Array, mode = 0o600): Promise<void> {
  await mkdir(dirname(file), { recursive: true, mode: 0o700 })
  const fresh = `${file}.${randomBytes(6).toString('hex')}.tmp`
  try {
    const handle = await open(fresh, 'wx', mode)
    try {
      await handle.writeFile(content)
      // The umask of this process may have taken permissions away that the file had.
      await handle.chmod(mode)
      await handle.sync()
    } finally {
      await handle.close()
    }
    await whenFree(() => rename(fresh, file))
  } catch (error) {
    await rm(fresh, { force: true })
    throw withPath(error, file)
  }
}

/** Writes the content of an open file. An error has the path of the file, as the errors of `open` have. */
export async function writeContent(handle: FileHandle, file: string, content: string | Uint8Array): Promise<void> {
  await handle.writeFile(content).catch((error: unknown) => {
    throw withPath(error, file)
  })
}

function withPath(error: unknown, path: string): unknown {
  return error instanceof Error ? Object.assign(error, { path }) : error
}

/** The errors of Windows for a file that another process has open. */
const BUSY = ['EPERM', 'EACCES', 'EBUSY']
const MAX_ATTEMPTS = 50
const RETRY_MS = 20

/**
 * Does work that needs a file which no other process has open. Windows refuses it while another one reads the file, for
 * milliseconds. So there it is repeated, for about a second.
 */
export async function whenFree<T>(work: () => Promise<T>, platform: string = process.platform): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work()
    } catch (error) {
      if (platform !== 'win32' || attempt === MAX_ATTEMPTS || !hasCode(error, ...BUSY)) throw error
    }
    await new Promise((resolve) => setTimeout(resolve, RETRY_MS))
  }
}

/** Whether an error of Node.js has one of these codes. */
export function hasCode(error: unknown, ...codes: readonly string[]): boolean {
  return error instanceof Error && 'code' in error && codes.includes(String(error.code))
}
