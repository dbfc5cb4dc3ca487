#!/usr/bin/env node
// Starts main.ts with a cache of compiled code. This file and compile-cache.js are JavaScript because they run before
// the cache is open: to remove their types, Node would load a compiler, which takes 60 ms and 18 MB.
import process from 'node:process'
import packageJson from '../package.json' with { type: 'json' }
import { keepCompiledCode } from './compile-cache.js'

// Look-ups of host names may occupy half of libuv's threads, of which there are four by default. One that gets no
// answer takes ten seconds, and two would keep the database and all others waiting. libuv reads this variable when it
// starts its threads.
process.env['UV_THREADPOOL_SIZE'] ??= '16'
keepCompiledCode(packageJson.version, process.env)
await import('./main.ts')
