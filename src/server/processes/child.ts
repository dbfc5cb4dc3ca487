import type { Running } from '../running.ts'
import { isToChild, tellParent } from './child-messages.ts'
import type { FromChild, ToChild } from './child-messages.ts'

/**
 * Resolves when the process above this one says stop. Signals go to that process, also those that a terminal or systemd
 * sends to all processes.
 */
export function toldByParent(): Promise<void> {
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined)
  return new Promise((resolve) => {
    process.on('message', (message) => {
      if (isToChild(message) && message.type === 'stop') resolve()
    })
  })
}

/** Applies the files again whenever the process above this one says so. */
export function reloadForParent(starting: Promise<Pick<Running, 'reload'>>): void {
  process.on('message', (message) => {
    if (isToChild(message) && message.type === 'reload') void reload(starting, message)
  })
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
