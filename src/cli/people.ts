#!/usr/bin/env node
import { runCommandLine } from './command-line.ts'
import { peopleCommands } from './commands.ts'

await runCommandLine(peopleCommands)
