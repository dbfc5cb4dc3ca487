import { readConfig } from '../../config.ts'
import { askService, ManagementError } from '../../server/management.ts'

type Options = {
  /** Apply the directory file even when it withdraws most of the members. */
  readonly force?: boolean
}

/** `svc reload`: the running service applies its directory and price files again. Prints what has changed. */
export async function reloadService({ force = false }: Options): Promise<void> {
  const answer = await askService(requireSocket(), 'reload', force ? { force: '1' } : {})
  process.stdout.write(`${answer}\n`)
}

/** The socket of the service with these settings; throws a `ManagementError` when it has none. */
export function requireSocket(): string {
  const { managementSocket } = readConfig()
  if (managementSocket !== null) return managementSocket
  throw new ManagementError(
    'These settings name no management socket. Set SVC_MANAGEMENT_SOCKET for the service and for this command, and ' +
      'restart the service.',
  )
}
