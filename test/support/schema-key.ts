import { createHash } from 'node:crypto'
import { readMigrations } from '../../src/database/migrations.ts'

/** A key of a migrated database, which changes when its engine or a migration changes. */
export async function schemaKey(engineVersion: string): Promise<string> {
  const checksums = (await readMigrations()).map(({ checksum }) => checksum)
  return createHash('sha256')
    .update([engineVersion, ...checksums].join())
    .digest('hex')
    .slice(0, 16)
}
