#!/usr/bin/env node
import { enableCompileCache } from 'node:module'
import { setFlagsFromString } from 'node:v8'

// Otherwise V8 collects the whole heap for each 64 MB of buffers, and bodies are buffers: a fifth of the time of a call of 200 KB in a
// process with an embedded database. Read at each such decision, so it may be set here.
setFlagsFromString('--external-memory-accounted-in-global-limit')
// Otherwise V8 forgets the types of a process that has had nothing to do for some seconds, to save some 50 MB, and with them its compiled code: the
// next thousands of calls cost half as much again. Read at each such collection.
setFlagsFromString('--no-memory-reducer-favors-memory')
// Compiled code is kept between starts; it must be on before the first large module is loaded.
enableCompileCache()
const { runCommandLine } = await import('./cli/command-line.ts')
const { peopleCommands } = await import('./cli/commands.ts')
const { serviceCommands } = await import('./cli/service-commands.ts')
await runCommandLine({ ...peopleCommands, ...serviceCommands })
