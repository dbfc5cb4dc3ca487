#!/usr/bin/env node
import { runProcess } from './command-line.ts'
import { peopleCommands } from './commands.ts'

// The packed file is CommonJS, which has no `await` here.
void runProcess(peopleCommands)
