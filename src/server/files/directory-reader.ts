import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads'
import { readDirectoryFile } from '../../directory/rules.ts'
import type { Directory } from '../../directory/rules.ts'
import type { ReadSecret } from '../../kernel/credentials/secret-source.ts'
import { threadEnvironment } from '../../kernel/thread-environment.ts'

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
  // The mistakes have the lines of the credentials, and credentials do not go to another thread.
  return readDirectoryFile(text, readSecret)
}

function hasCredentials({ backends }: Directory, readSecret: ReadSecret): boolean {
  return backends.every(({ credential }) => credential === null || 'secret' in readSecret(credential))
}

function readInWorker(text: string): Promise<Read> {
  return new Promise((resolve, reject) => {
    // This module again, so that the packed service has no second file to find.
    const worker = new Worker(new URL(import.meta.url), { workerData: { task: TASK, text }, env: threadEnvironment() })
    worker.once('message', resolve)
    worker.once('error', reject)
    worker.once('exit', () => reject(new Error('The thread that reads the directory file has ended.')))
  })
}

type Task = { readonly task?: unknown; readonly text?: unknown } | null

if (!isMainThread) {
  const given = workerData as Task
  if (given?.task === TASK && typeof given.text === 'string') parentPort?.postMessage(readDirectoryFile(given.text))
}
