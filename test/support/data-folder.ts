import { existsSync, statfsSync } from 'node:fs'
import { tmpdir } from 'node:os'

const MEMORY = '/dev/shm'
/** More than the databases of all workers take at once. In a container, this folder often has only 64 MB. */
const MIN_FREE_BYTES = 2 ** 31

/**
 * Where tests keep the data of databases: in memory on Linux where there is room, because a disk's file system takes
 * three times the CPU time to make and remove the thousand files of a database.
 */
export const DATA_HOME = hasRoom(MEMORY) ? MEMORY : tmpdir()

function hasRoom(folder: string): boolean {
  if (!existsSync(folder)) return false
  const { bavail, bsize } = statfsSync(folder)
  return bavail * bsize >= MIN_FREE_BYTES
}
