import { getCompileCacheDir } from 'node:module'
import { dirname } from 'node:path'

/** The environment of a thread, which has only what makes it share the compiled code of its process, and no secret. */
export function threadEnvironment(): Record<string, string> {
  const directory = getCompileCacheDir()
  // Node adds a folder for its version.
  return directory ? { NODE_COMPILE_CACHE: dirname(directory) } : {}
}
