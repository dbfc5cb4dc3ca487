import type { DatabaseConfig } from '../config/values.ts'
import type { Database } from '../database/client.ts'
import { openDatabase } from '../database/open.ts'
import type { Clock } from '../kernel/clock.ts'
import type { Logger } from '../log.ts'

/** What an operator can do with what is stored of a person, by the command. The option `email` names the person. */
export type PersonActions = Readonly<Record<'erase' | 'export', (options: URLSearchParams) => Promise<string>>>

export function makePersonActions(database: Pick<Database, 'prisma'>, clock: Clock): PersonActions {
  const emailOf = (options: URLSearchParams) => options.get('email') ?? ''
  return {
    async erase(options) {
      const { eraseAccount } = await import('../control/stored-person/erase.ts')
      return eraseAccount(database, emailOf(options), clock.now())
    },
    async export(options) {
      const { exportAccount } = await import('../control/stored-person/export.ts')
      return exportAccount(database, emailOf(options))
    },
  }
}

type Needs = { readonly database: DatabaseConfig; readonly clock: Clock; readonly log: Logger }

/** Opens a database that this process may use, and acts on a person there. */
export async function actInDatabase(
  action: keyof PersonActions,
  email: string,
  { database: config, clock, log }: Needs,
): Promise<string> {
  const database = await openDatabase(config, log)
  try {
    return await makePersonActions(database, clock)[action](new URLSearchParams({ email }))
  } finally {
    await database.close()
  }
}
