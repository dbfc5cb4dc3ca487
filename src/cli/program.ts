import { Command } from 'commander'
import type { MakeCommand } from './command-line.ts'
import { ConfigError, readConfig, warningsOf } from '../config.ts'
import { DatabaseOpenError, openDatabase } from '../database/client.ts'
import { DirectoryInUseError } from '../database/lock.ts'
import { runDemo } from './demo/demo.ts'
import { TourError } from './demo/tour.ts'
import { systemClock } from '../kernel/clock.ts'
import { openLog } from '../log.ts'
import { MigrationError } from '../database/migrations.ts'
import { AddressError, DirectoryFileError, serve } from '../server/serve.ts'

/** Their messages say what to do. */
const PLAIN_ERRORS = [
  ConfigError,
  DirectoryFileError,
  AddressError,
  DatabaseOpenError,
  DirectoryInUseError,
  MigrationError,
  TourError,
]

export const makeServe: MakeCommand = () =>
  new Command('serve')
    .helpGroup('For operators:')
    .description('Serve the role or roles of SVC_ROLE until interrupted.')
    .action(() => runService().catch(fail))

export const makeDemo: MakeCommand = () =>
  new Command('demo')
    .helpGroup('For operators:')
    .description('Start the service beside an echo engine, walk through a login and a call, and keep serving.')
    .option('--once', 'end after the walk', false)
    .action(({ once }: { once: boolean }) => runDemo({ once, print, interrupted }).catch(fail))

export const makeMigrate: MakeCommand = () =>
  new Command('migrate')
    .helpGroup('For operators:')
    .description('Bring the database of SVC_DATABASE_URL up to this version, and end.')
    .action(() => migrateDatabase().catch(fail))

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

/** Opening a database migrates it. */
async function migrateDatabase(): Promise<void> {
  const { database } = readConfig()
  if (!database) throw new ConfigError(['SVC_DATABASE_URL: there is no database to migrate'])
  await (await openDatabase(database)).close()
  print('The database is up to date.\n')
}

function print(text: string): void {
  process.stdout.write(text)
}

/** Resolves at the first signal to stop; a second one ends the process at once. */
function interrupted(): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => resolve(signal))
  })
}

/** What the operator can mend is told in plain words; anything else is a bug and shows where. */
function fail(error: unknown): void {
  const isPlain = PLAIN_ERRORS.some((kind) => error instanceof kind)
  console.error(isPlain && error instanceof Error ? error.message : error)
  // What is still open must not keep a failed start alive.
  process.exit(1)
}
