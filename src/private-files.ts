import { randomBytes } from 'node:crypto'
import { chmod, mkdir, open, rename, rm, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { explainMissingDirectory } from './kernel/error-code.ts'
import { OperatorError } from './kernel/operator-error.ts'

/** A directory cannot be made or used. The message says why, without a full stop. */
class DirectoryError extends OperatorError {
  override readonly name = 'DirectoryError'
}

/** The sticky bit of a directory: each user may remove only their own files, as in /tmp (chmod(2), `S_ISVTX`). */
const STICKY = 0o1000

/**
 * Creates a directory that only this user can read, with its parents. Takes the permissions of others away from a
 * directory that exists already, and resolves with whether that was necessary. Rejects for one such as /tmp, which no
 * other user could use any more.
 */
export async function makePrivateDirectory(directory: string): Promise<boolean> {
  await makeDirectories(directory)
  const { mode } = await stat(directory)
  if ((mode & STICKY) !== 0) {
    const reason = 'is for all users of this machine, as its sticky bit says. Name a directory of its own'
    throw new DirectoryError(`${directory} ${reason}`)
  }
  return restrict(directory, { from: mode, to: 0o700 })
}

/** Why a private directory cannot be made or written, for a message: what to do, or what the system says. */
export function explainDirectoryError(error: unknown): string {
  return error instanceof DirectoryError ? error.message : String(error)
}

/** Takes the permissions of others away from a file, and resolves with whether that was necessary. */
export async function makePrivateFile(file: string): Promise<boolean> {
  return restrict(file, { from: (await stat(file)).mode, to: 0o600 })
}

/**
 * Replaces a file as a whole: a reader finds the old content or the new one, also after the machine has stopped. Makes
 * its directory where there is none. Only this user can read the file, unless `mode` says otherwise.
 */
export async function replaceFile(file: string, content: string | Buffer, mode = 0o600): Promise<void> {
  await makeDirectories(dirname(file))
  const fresh = `${file}.${randomBytes(6).toString('hex')}.tmp`
  try {
    const handle = await open(fresh, 'wx', mode)
    try {
      await handle.writeFile(content)
      await handle.sync()
    } finally {
      await handle.close()
    }
    await rename(fresh, file)
  } catch (error) {
    await rm(fresh, { force: true })
    throw error
  }
}

async function restrict(path: string, { from, to }: { readonly from: number; readonly to: number }): Promise<boolean> {
  const isShared = (from & 0o077) !== 0
  if (isShared) await chmod(path, to)
  return isShared
}

/** Creates a directory that only this user can read, with its parents. */
async function makeDirectories(directory: string): Promise<void> {
  try {
    await mkdir(directory, { recursive: true, mode: 0o700 })
  } catch (cause) {
    const reason = explainMissingDirectory(cause)
    if (reason === null) throw cause
    throw new DirectoryError(`${directory} ${reason}`, { cause })
  }
}
