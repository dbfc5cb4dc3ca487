import type { Database } from '../database/client.ts'
import type { Config } from '../config/values.ts'
import { makeTeamBackendStore } from '../control/team-backends/store.ts'
import { openKeyFile } from '../database/embedded/key-file.ts'
import type { AdminBackendTrust } from '../directory/admin-backends.ts'
import { makeCipher, newEncryptionKey } from '../kernel/credentials/cipher.ts'
import type { Cipher } from '../kernel/credentials/cipher.ts'
import type { Logger } from '../log.ts'

type Settings = Pick<Config, 'adminBackendHosts' | 'encryptionKeys' | 'database'>

/** Opens what backends of admins need: the allowed hosts, and the cipher of credentials. Null: none are allowed. */
export async function openAdminBackendTrust(config: Settings, log: Logger): Promise<AdminBackendTrust | null> {
  const { adminBackendHosts: hosts } = config
  return hosts && { hosts, cipher: await openCipher(config, log) }
}

/** Encrypts the credentials of backends with the first key, where another one has encrypted them. */
export async function reencryptCredentials(database: Database, trust: AdminBackendTrust, log: Logger): Promise<void> {
  const { encrypted, unreadable } = await makeTeamBackendStore(database).reencrypt(trust)
  if (encrypted > 0) log.info({ encrypted }, 'team_backend.reencrypted')
  if (unreadable > 0) log.error({ unreadable }, 'team_backend.credentials_unreadable')
}

async function openCipher({ encryptionKeys, database }: Settings, log: Logger): Promise<Cipher> {
  if (encryptionKeys) return makeCipher(encryptionKeys)
  if (database?.kind === 'embedded') return makeCipher([await openKeyFile(database.directory, log)])
  // The database is in memory and ends with this process, so its key may too. A Postgres server needs the setting.
  return makeCipher([newEncryptionKey()])
}
