#!/usr/bin/env node
import { Command } from 'commander'
import { ConfigError, readConfig, warningsOf } from './config.ts'
import { systemClock } from './kernel/clock.ts'
import { openLog } from './log.ts'
import { DirectoryFileError, serve } from './serve.ts'

const program = new Command('svc')
  .description('One login and one base URL for every coding agent and SDK that a team uses.')
  .showHelpAfterError()

program.command('serve').description('Serve the role or roles of SVC_ROLE until interrupted.').action(runService)

await program.parseAsync().catch(fail)

async function runService(): Promise<void> {
  const config = readConfig()
  const log = openLog(config.logLevel)
  for (const warning of warningsOf(config)) log.warn({ warning }, 'settings.warning')
  const running = await serve(config, { clock: systemClock, log })
  process.on('SIGHUP', () => {
    running.reloadDirectory().then(
      () => log.info({ file: config.directoryFile }, 'directory.applied'),
      (err: unknown) => log.error({ err }, 'directory.refused'),
    )
  })
  const signal = await interrupted()
  log.info({ signal }, 'service.stopping')
  await running.stop()
  log.flush()
}

/** Resolves at the first signal to stop; a second one ends the process at once. */
function interrupted(): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => resolve(signal))
  })
}

/** Mistakes of the operator are told in plain words; anything else is a bug and shows where. */
function fail(error: unknown): void {
  const plain = error instanceof ConfigError || error instanceof DirectoryFileError
  console.error(plain ? error.message : error)
  process.exitCode = 1
}
