import { once } from 'node:events'
import { setImmediate } from 'node:timers/promises'
import { isMainThread, MessageChannel, receiveMessageOnPort, Worker, workerData } from 'node:worker_threads'
import type { MessagePort } from 'node:worker_threads'
import { readDirectoryFile } from '../../directory/rules.ts'
import type { Directory } from '../../directory/rules.ts'
import type { ReadSecret } from '../../kernel/credentials/secret-source.ts'
import { threadEnvironment } from '../../kernel/thread-environment.ts'
import { cutTeams, joinTeams } from './directory-pages.ts'
import type { TeamPage } from './directory-pages.ts'

type Read = { directory: Directory } | { mistakes: string[] }

/** Reading this much takes less than 50 ms. A worker thread takes longer to start. */
const MAX_INLINE_LENGTH = 50_000

/** Identifies the data of this file's worker, because other workers may load this module too. */
const TASK = 'svc-read-directory'

/**
 * Reads a directory file as `readDirectoryFile` does. A large file is read in another thread, because it takes a second
 * for 20,000 members, and this thread serves calls meanwhile.
 */
export async function readDirectoryText(text: string, readSecret: ReadSecret | null): Promise<Read> {
  if (text.length <= MAX_INLINE_LENGTH) return readDirectoryFile(text, readSecret)
  const read = await readInWorker(text)
  if (!readSecret || 'mistakes' in read || hasCredentials(read.directory, readSecret)) return read
  // A credential cannot be read. The file is read again here, because its mistakes name lines, and credentials are not
  // sent to another thread.
  return readDirectoryFile(text, readSecret)
}

function hasCredentials({ backends }: Directory, readSecret: ReadSecret): boolean {
  return backends.every(({ credential }) => credential === null || 'secret' in readSecret(credential))
}

async function readInWorker(text: string): Promise<Read> {
  const { port1, port2 } = new MessageChannel()
  const task: Task = { task: TASK, text, port: port2 }
  // This module again, so that the packed service has no second file to find.
  const options = { workerData: task, transferList: [port2], env: threadEnvironment() }
  const worker = new Worker(new URL(import.meta.url), options)
  // Rejects with the error of the thread.
  await once(worker, 'exit')
  return receive(port1)
}

/** Receives what `send` has sent. Other work of this thread runs between two messages. */
async function receive(port: MessagePort): Promise<Read> {
  const first = receiveMessageOnPort(port)
  if (!first) throw new Error('The thread that reads the directory file has ended.')
  const read = first.message as Read
  if ('mistakes' in read) return read
  const pages: TeamPage[] = []
  for (let next = receiveMessageOnPort(port); next; next = receiveMessageOnPort(port)) {
    pages.push(next.message as TeamPage)
    await setImmediate()
  }
  return { directory: joinTeams(read.directory, pages) }
}

/** Sends a result in several messages, because receiving 20,000 members at once takes 30 ms. */
function send(port: MessagePort, read: Read): void {
  if ('mistakes' in read) return port.postMessage(read)
  const { outline, pages } = cutTeams(read.directory)
  port.postMessage({ directory: outline })
  for (const page of pages) port.postMessage(page)
}

type Task = { readonly task: typeof TASK; readonly text: string; readonly port: MessagePort }

if (!isMainThread) {
  const given = workerData as Partial<Task> | null
  if (given?.task === TASK && given.port) send(given.port, readDirectoryFile(given.text ?? ''))
}
