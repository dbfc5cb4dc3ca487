#!/usr/bin/env node
import { runProcess } from './command-line.ts'
import { peopleCommands } from './commands.ts'

await runProcess(peopleCommands)
