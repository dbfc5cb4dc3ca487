import type { Running } from '../running.ts'
import { isToChild, tellParent } from './child-messages.ts'
import type { FromChild, ToChild } from './child-messages.ts'

/**
 * Obeys the process above this one until it says stop, and resolves then. Signals go to that process, also those that a
 * terminal or systemd sends to all processes.
 */
export async function obeyParent(starting: Promise<Pick<Running, 'reload'>>): Promise<void> {
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined)
  const stopped = new Promise<void>((resolve) => {
    process.on('message', (message) => {
      if (!isToChild(message)) return
      if (message.type === 'stop') resolve()
      if (message.type === 'reload') void reload(starting, message)
    })
  })
  await starting
  await stopped
}

async function reload(
  starting: Promise<Pick<Running, 'reload'>>,
  { id, force }: ToChild & { readonly type: 'reload' },
): Promise<void> {
  const answer = await starting
    .then((running) => running.reload(force))
    .then(
      (text): FromChild => ({ type: 'reloaded', id, isApplied: true, text }),
      (error: unknown): FromChild => {
        return { type: 'reloaded', id, isApplied: false, text: error instanceof Error ? error.message : String(error) }
      },
    )
  tellParent(answer)
}
