import type { Worker as Child } from 'node:cluster'

/** What the process above the others sends to them. The answer to a question has its `id`. */
export type ToChild = { readonly type: 'stop' } | (Question & { readonly id: number })

type Question = { readonly type: 'reload'; readonly force: boolean } | { readonly type: 'metrics' }

/** The answers: what a reload has changed, or why nothing has; and all metrics, in the form of prom-client. */
export type FromChild =
  | { readonly type: 'reloaded'; readonly id: number; readonly isApplied: boolean; readonly text: string }
  | { readonly type: 'metrics'; readonly id: number; readonly metrics: readonly object[] }

/** Whether a message is one of this service. Node.js and libraries use the same channel. */
export function isToChild(message: unknown): message is ToChild {
  return ['stop', 'reload', 'metrics'].includes(typeOf(message))
}

function isFromChild(message: unknown): message is FromChild {
  return ['reloaded', 'metrics'].includes(typeOf(message))
}

function typeOf(message: unknown): string {
  return typeof message === 'object' && message !== null && 'type' in message ? String(message.type) : ''
}

let lastId = 0

/** Asks a process. Resolves with its answer, or with null when it ends first or takes longer than `maxMs`. */
export function ask(child: Child, question: Question, maxMs?: number): Promise<FromChild | null> {
  const id = ++lastId
  return new Promise((resolve) => {
    const settle = (answer: FromChild | null) => {
      clearTimeout(timer)
      child.off('message', read)
      child.off('exit', end)
      resolve(answer)
    }
    const read = (message: unknown) => {
      if (isFromChild(message) && message.id === id) settle(message)
    }
    const end = () => settle(null)
    const timer = maxMs === undefined ? undefined : setTimeout(end, maxMs)
    child.on('message', read)
    child.on('exit', end)
    tell(child, { ...question, id })
  })
}

/** Sends a message to a process. One that is just ending does not get it. */
export function tell(child: Child, message: ToChild): void {
  // Without a callback, a message that cannot be sent would end this process.
  child.send(message, () => undefined)
}
