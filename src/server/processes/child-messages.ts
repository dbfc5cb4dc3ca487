/** What the process above the others sends to them. */
export type ToChild =
  { readonly type: 'stop' } | { readonly type: 'reload'; readonly id: number; readonly force: boolean }

/** The answer to `reload`: what has changed, or why nothing has. */
export type FromChild = {
  readonly type: 'reloaded'
  readonly id: number
  readonly isApplied: boolean
  readonly text: string
}

/** Whether a message is one of this service. Node.js and libraries use the same channel. */
export function isToChild(message: unknown): message is ToChild {
  return typeOf(message) === 'stop' || typeOf(message) === 'reload'
}

/** The same as `isToChild`, in the other direction. */
export function isFromChild(message: unknown): message is FromChild {
  return typeOf(message) === 'reloaded'
}

function typeOf(message: unknown): unknown {
  return typeof message === 'object' && message !== null && 'type' in message ? message.type : null
}
