import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { newEncryptionKey, readEncryptionKey } from '../../kernel/credentials/cipher.ts'
import type { EncryptionKey } from '../../kernel/credentials/cipher.ts'
import { OperatorError } from '../../kernel/operator-error.ts'
import type { Logger } from '../../log.ts'
import { makePrivateFile, replaceFile } from '../../private-files.ts'

/** The encryption key, beside an embedded database and outside of its backups. */
const KEY_FILE = 'encryption-key'

/** Reads the key in the directory of an embedded database, or makes it at the first start. Throws when it is broken. */
export async function openKeyFile(directory: string, log: Logger): Promise<EncryptionKey> {
  const path = join(directory, KEY_FILE)
  // The lock of the database keeps other processes away.
  if (!existsSync(path)) await replaceFile(path, `${newEncryptionKey().reveal()}\n`)
  if (await makePrivateFile(path)) log.warn({ path }, 'files.made_private')
  const key = readEncryptionKey((await readFile(path, 'utf8')).trim())
  if (key) return key
  throw new OperatorError(
    `${path} holds no key of 32 bytes in base64. Restore it, or delete it and set all credentials again.`,
  )
}
