import { chmod, mkdir, stat } from 'node:fs/promises'

/**
 * Creates a directory that only this user can read, with its parents. Takes the permissions of others away from a
 * directory that exists already, and resolves with whether that was necessary.
 */
export async function makePrivateDirectory(directory: string): Promise<boolean> {
  await mkdir(directory, { recursive: true, mode: 0o700 })
  return restrict(directory, 0o700)
}

/** Takes the permissions of others away from a file, and resolves with whether that was necessary. */
export function makePrivateFile(file: string): Promise<boolean> {
  return restrict(file, 0o600)
}

async function restrict(path: string, mode: number): Promise<boolean> {
  const isShared = ((await stat(path)).mode & 0o077) !== 0
  if (isShared) await chmod(path, mode)
  return isShared
}
