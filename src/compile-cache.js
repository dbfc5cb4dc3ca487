import { mkdirSync, readdirSync, rmSync, statSync, utimesSync } from 'node:fs'
import { enableCompileCache } from 'node:module'
import { homedir } from 'node:os'
import path from 'node:path'
import process from 'node:process'

/** Node never removes compiled code. A version that was not started for this long is probably gone. */
const MAX_UNUSED_MS = 30 * 86_400_000

/**
 * Keeps the compiled code of modules between starts: in the folder that `NODE_COMPILE_CACHE` names, or else in the
 * user's cache folder, where each version has a folder of its own. The first start of a version removes the folders of
 * versions that were not started for 30 days. When the folder cannot be written, each start compiles again.
 *
 * @param {string} version the version of this service
 * @param {Readonly<Record<string, string | undefined>>} env
 * @returns {void}
 */
export function keepCompiledCode(version, env) {
  if (env['NODE_COMPILE_CACHE']) return void enableCompileCache()
  try {
    const all = path.join(cacheHome(env), 'svc', 'compiled')
    const own = path.join(all, version)
    // Only this user may write there, because what is there is run.
    const isFirstStart = mkdirSync(own, { recursive: true, mode: 0o700 }) !== undefined
    if (isFirstStart) removeUnused(all)
    // Shows the first starts of other versions that this one is in use.
    utimesSync(own, new Date(), new Date())
    enableCompileCache(own)
  } catch {
    // The folder cannot be written, or another process has removed a folder meanwhile.
  }
}

/** @param {string} all */
function removeUnused(all) {
  for (const name of readdirSync(all)) {
    const folder = path.join(all, name)
    if (Date.now() - statSync(folder).mtimeMs > MAX_UNUSED_MS) rmSync(folder, { recursive: true, force: true })
  }
}

/**
 * Where programs of a user keep what they can make again (XDG Base Directory Specification, and its equivalents).
 *
 * @param {Readonly<Record<string, string | undefined>>} env
 * @returns {string}
 */
function cacheHome(env) {
  if (process.platform === 'win32') return env['LOCALAPPDATA'] ?? path.join(homedir(), 'AppData', 'Local')
  if (process.platform === 'darwin') return path.join(homedir(), 'Library', 'Caches')
  const given = env['XDG_CACHE_HOME']
  // A relative path is invalid and must be ignored.
  return given && path.isAbsolute(given) ? given : path.join(homedir(), '.cache')
}
