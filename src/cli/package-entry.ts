#!/usr/bin/env node
// The start of the package `@svc/cli`, which has the commands of people and none of operators.
import { runProcess } from './command-line.ts'
import { peopleCommands } from './commands.ts'

// The packed file is CommonJS, which has no `await` here.
void runProcess(peopleCommands)
