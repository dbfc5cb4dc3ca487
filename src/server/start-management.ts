import cluster from 'node:cluster'
import type { Config } from '../config/values.ts'
import type { Reload } from './files/apply-files.ts'
import { openManagement } from './management.ts'
import type { Management, ManagementActions } from './management.ts'
import type { Resources } from './roles.ts'
import { makePersonActions } from './stored-person.ts'

/** The socket of operators' commands; null where none is configured. */
export async function startManagement(
  { managementSocket: socket }: Config,
  { database, clock, log }: Pick<Resources, 'database' | 'clock' | 'log'>,
  reload: Reload,
): Promise<Management | null> {
  // The process above several ones has the socket.
  if (socket === null || cluster.isWorker) return null
  const actions: ManagementActions = {
    reload: (options) => reload(options.has('force')),
    ...(database?.copyFiles && { backup: database.copyFiles, ...makePersonActions(database, clock) }),
  }
  return openManagement(socket, actions, log)
}
