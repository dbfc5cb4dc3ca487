import type { Worker as Child } from 'node:cluster'
import type { Socket } from 'node:net'

/** A file whose text the process above the others keeps. `settings`: all files that settings name, in one text. */
export type SharedFile = 'directory' | 'prices' | 'settings'

/** What the process above the others sends to them. The answer to a question has its `id`. */
export type ToChild =
  | { readonly type: 'stop' }
  /** The port that all of them serve. */
  | { readonly type: 'listening'; readonly port: number }
  /** Comes with the socket of a new connection. It is lost when the process can open no more files. */
  | { readonly type: 'connection' }
  /** Follows each of these messages, and always arrives. */
  | { readonly type: 'connection_sent' }
  /** The text of a file that was last applied by any process; null when none was. */
  | { readonly type: 'applied'; readonly file: SharedFile; readonly text: string | null }
  | (Question & { readonly id: number })

type Question = { readonly type: 'reload'; readonly force: boolean } | { readonly type: 'metrics' }

/** What the other processes send to the one above them. */
export type FromChild =
  /** It can serve connections from now on. */
  | { readonly type: 'ready' }
  /** How many connections it has received since its start, and how many of them have been closed. */
  | { readonly type: 'connections'; readonly received: number; readonly closed: number }
  /** It uses this text of a file. */
  | { readonly type: 'applied'; readonly file: SharedFile; readonly text: string }
  /** It asks for the text of a file that was last applied. */
  | { readonly type: 'find_applied'; readonly file: SharedFile }
  /** What a reload has changed, or why nothing has. */
  | { readonly type: 'reloaded'; readonly id: number; readonly isApplied: boolean; readonly text: string }
  /** All metrics, in the form of prom-client. */
  | { readonly type: 'metrics'; readonly id: number; readonly metrics: readonly object[] }

type Answer = Extract<FromChild, { readonly id: number }>

const TO_CHILD = ['stop', 'listening', 'connection', 'connection_sent', 'applied', 'reload', 'metrics']

/** Whether a message is one of this service. Node.js and libraries use the same channel. */
export function isToChild(message: unknown): message is ToChild {
  return TO_CHILD.includes(typeOf(message))
}

/** As `isToChild`, in the other direction. */
export function isFromChild(message: unknown): message is FromChild {
  return ['ready', 'connections', 'applied', 'find_applied', 'reloaded', 'metrics'].includes(typeOf(message))
}

function typeOf(message: unknown): string {
  return typeof message === 'object' && message !== null && 'type' in message ? String(message.type) : ''
}

let lastId = 0

/** Asks a process. Resolves with its answer, or with null when it ends first or takes longer than `maxMs`. */
export function ask(child: Child, question: Question, maxMs: number): Promise<Answer | null> {
  const id = ++lastId
  return new Promise((resolve) => {
    const settle = (answer: Answer | null) => {
      clearTimeout(timer)
      child.off('message', read)
      child.off('exit', end)
      resolve(answer)
    }
    const read = (message: unknown) => {
      if (isFromChild(message) && 'id' in message && message.id === id) settle(message)
    }
    const end = () => settle(null)
    const timer = setTimeout(end, maxMs)
    child.on('message', read)
    child.on('exit', end)
    tell(child, { ...question, id })
  })
}

/** Sends a message to a process. One that is just ending does not get it. */
export function tell(child: Child, message: ToChild): void {
  child.send(message, ignoreFailure)
}

/** Sends a connection to a process. It stays open here too, until it is closed here. */
export function tellWithConnection(child: Child, message: ToChild, socket: Socket): void {
  child.send(message, socket, { keepOpen: true }, ignoreFailure)
}

/** Sends a message to the process above this one. Does nothing in a process that has none. */
export function tellParent(message: FromChild): void {
  process.send?.(message, undefined, undefined, ignoreFailure)
}

/** Without a callback, a message that cannot be sent would end the process that sends it. */
function ignoreFailure(): void {}
