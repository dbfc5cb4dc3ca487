/** Where the thread of an embedded database starts. A thread does not share the compile cache of its process. */
import { enableCompileCache, flushCompileCache } from 'node:module'
import { workerData } from 'node:worker_threads'
import type { ThreadData } from './database-thread.ts'

// The client of the thread has sent it.
const { compileCache } = workerData as ThreadData
if (compileCache !== null) enableCompileCache(compileCache)
// Imported after that, so that its modules are cached too.
await import('./database-thread.ts')
// A thread that is ended does not write what it has compiled.
flushCompileCache()
