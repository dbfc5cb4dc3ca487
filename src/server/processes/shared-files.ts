/**
 * The files that several processes use. The process above them keeps the text that was last applied of each, so that a
 * process that replaces another one can start while the file is refused.
 */
import cluster from 'node:cluster'
import type { Worker as Child } from 'node:cluster'
import { isFromChild, isToChild, tell, tellParent } from './child-messages.ts'
import type { SharedFile } from './child-messages.ts'

/** Tells the process above this one what this process has applied. Does nothing in a process that has none. */
export function shareFile(file: SharedFile, text: string): void {
  if (cluster.isWorker) tellParent({ type: 'applied', file, text })
}

/** Resolves with the text that the processes before this one have applied; null when none has. */
export function findSharedFile(file: SharedFile): Promise<string | null> {
  return new Promise((resolve) => {
    const read = (message: unknown) => {
      if (!isToChild(message) || message.type !== 'applied' || message.file !== file) return
      process.off('message', read)
      resolve(message.text)
    }
    process.on('message', read)
    tellParent({ type: 'find_applied', file })
  })
}

/**
 * Makes the function that keeps and hands out the texts. Call it with each process that is started. `settings`: what
 * the files of settings contain.
 */
export function makeKeepFiles(settings: string): (child: Child) => void {
  const texts = new Map<SharedFile, string>([['settings', settings]])
  return (child) => {
    child.on('message', (message: unknown) => {
      if (!isFromChild(message)) return
      if (message.type === 'applied') texts.set(message.file, message.text)
      if (message.type !== 'find_applied') return
      tell(child, { type: 'applied', file: message.file, text: texts.get(message.file) ?? null })
    })
  }
}
