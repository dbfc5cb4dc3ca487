#!/usr/bin/env node
import { enableCompileCache } from 'node:module'

// Compiled code is kept between starts; it must be on before the first large module is loaded.
enableCompileCache()
const { runCommand } = await import('./command-line.ts')
await runCommand()
