import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { ENCRYPTION_KEY_BYTES } from '../kernel/cipher.ts'
import { newKeyMaterial, Secret } from '../kernel/secret.ts'
import type { Logger } from '../log.ts'
import { makePrivateFile, replaceFile } from '../private-files.ts'

/** The encryption key, beside an embedded database and outside of its backups. */
const KEY_FILE = 'encryption-key'

/** Reads the key in the directory of an embedded database, and makes it at the first start. */
export async function openKeyFile(directory: string, log: Logger): Promise<Secret> {
  const path = join(directory, KEY_FILE)
  // The lock of the database keeps other processes away.
  if (!existsSync(path)) await replaceFile(path, `${newKeyMaterial().reveal()}\n`)
  if (await makePrivateFile(path)) log.warn({ path }, 'files.made_private')
  const key = (await readFile(path, 'utf8')).trim()
  if (Buffer.from(key, 'base64').length === ENCRYPTION_KEY_BYTES) return new Secret(key)
  throw new Error(`${path} holds no key of 32 bytes in base64. Restore it, or delete it and set all credentials again.`)
}
