import { rm } from 'node:fs/promises'
import { jsonOf } from './json.ts'
import { withLock } from './node-lock.ts'
import { readText, rewriteFile, whenFree } from './node-files.ts'
import { toStoredTokens } from './session.ts'
import type { StoredTokens, TokenStore } from './session.ts'

/** The file of a token store contains something else. The message names the file and says what to do. */
export class TokenFileError extends Error {
  override readonly name = 'TokenFileError'
}

/**
 * Stores the tokens of a device in a file that only its owner can read (mode 0600). Each write replaces the whole file.
 * A lock file beside it (`FILE.lock`) prevents that several processes refresh the tokens at the same time.
 */
export function fileTokenStore(file: string): TokenStore {
  return {
    load: () => load(file),
    save: (tokens) =>
      tokens === null
        ? whenFree(() => rm(file, { force: true }))
        : rewriteFile(file, `${JSON.stringify(tokens, null, 2)}\n`),
    exclusively: (task) => withLock(file, task),
  }
}

async function load(file: string): Promise<StoredTokens | null> {
  const text = await readText(file)
  if (text === null) return null
  const tokens = toStoredTokens(jsonOf(text))
  if (tokens === null)
    throw new TokenFileError(`${file} does not contain tokens of this client. Remove the file and log in again.`)
  return tokens
}
