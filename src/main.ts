import { setFlagsFromString } from 'node:v8'
import { interrupted } from './cli/operators/interrupt.ts'

/** Modules of Node.js that a start of the service loads, with those that they load. */
const NODE_MODULES = ['crypto', 'cluster', 'worker_threads', 'zlib', 'http', 'http2', 'dns', 'perf_hooks', 'stream/web']

if (process.argv[2] === 'serve') {
  // The default action of SIGHUP ends the process. `svc serve` handles the signal as soon as it can; until then it is
  // ignored.
  process.on('SIGHUP', () => undefined)
  // The default action of a signal to stop ends the process without a word in the log, or does nothing in the first
  // process of a container. `svc serve` waits for the signal.
  void interrupted()
  // The program `node` contains their compiled code, which V8 rejects once a flag below is set.
  for (const name of NODE_MODULES) process.getBuiltinModule(`node:${name}`)
}

// By default V8 collects the whole heap for every 64 MB of buffers, and bodies are buffers. In a process with an
// embedded database that takes a fifth of the time of a 200 KB call. V8 reads the flag at each such decision, so it can
// be set here.
setFlagsFromString('--external-memory-accounted-in-global-limit')
// By default V8 discards compiled code after some idle seconds to save about 50 MB, and the next thousands of calls
// take half as long again. V8 reads the flag at each such collection.
setFlagsFromString('--no-memory-reducer-favors-memory')
// By default V8 optimizes functions of the embedded database while the process starts, which takes 50 MB and 0.3 s of
// CPU time. With this, it waits until some thousand statements have run. V8 reads the flag when it instantiates the
// database's code.
setFlagsFromString('--wasm-tiering-budget=240000000')
// Imported after the flags are set.
const { runProcess } = await import('./cli/command-line.ts')
const { peopleCommands } = await import('./cli/commands.ts')
const { operatorCommands } = await import('./cli/operators/commands.ts')
await runProcess({ ...peopleCommands, ...operatorCommands })
