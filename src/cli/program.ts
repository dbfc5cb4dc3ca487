import { Command } from 'commander'
import { ConfigError } from '../config.ts'
import { BackupError } from '../database/backup.ts'
import { DatabaseOpenError } from '../database/client.ts'
import { DirectoryInUseError } from '../database/lock.ts'
import { MigrationError } from '../database/migrations.ts'
import { DirectoryFileError } from '../server/directory-file.ts'
import { PricesFileError } from '../server/prices-file.ts'
import { AddressError } from '../server/listener.ts'
import { ManagementError } from '../server/management.ts'
import { ProcessStartError } from '../server/processes.ts'
import { backUp, restore } from './backup.ts'
import type { MakeCommand } from './command-line.ts'
import { runDemo } from './demo/demo.ts'
import { TourError } from './demo/tour.ts'
import { interrupted } from './interrupt.ts'
import { migrateDatabase } from './migrate.ts'
import { updatePrices } from './prices.ts'
import { reloadService } from './reload.ts'
import { runService } from './serve.ts'

/** Errors that the operator can resolve. Their messages say how. */
const PLAIN_ERRORS = [
  ConfigError,
  DirectoryFileError,
  PricesFileError,
  AddressError,
  DatabaseOpenError,
  BackupError,
  DirectoryInUseError,
  MigrationError,
  ManagementError,
  ProcessStartError,
  TourError,
]

export const makeServe: MakeCommand = () =>
  new Command('serve')
    .helpGroup('For operators:')
    .description('Serve the role or roles of SVC_ROLE until interrupted.')
    .option('--force', 'apply the directory file even when it withdraws most of the members', false)
    .action((options: { force: boolean }) => runService(options).catch(fail))

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

export const makePrices: MakeCommand = () =>
  new Command('prices')
    .helpGroup('For operators:')
    .description('Update the prices of models.')
    .addCommand(
      new Command('update')
        .description('Check a price list of models.dev or LiteLLM, and put it in the place of SVC_PRICES_FILE.')
        .argument('<file>', 'the downloaded list')
        .action((file: string) => updatePrices(file).catch(fail)),
    )

export const makeReload: MakeCommand = () =>
  new Command('reload')
    .helpGroup('For operators:')
    .description(
      'Make the running service apply its directory file and its price file again, and say what has changed.',
    )
    .option('--force', 'apply the directory file even when it withdraws most of the members', false)
    .action((options: { force: boolean }) => reloadService(options).catch(fail))

export const makeBackup: MakeCommand = () =>
  new Command('backup')
    .helpGroup('For operators:')
    .description('Copy the embedded database into a new directory. The service may run meanwhile.')
    .argument('<dir>', 'the new directory')
    .action((directory: string) => backUp(directory).catch(fail))

export const makeRestore: MakeCommand = () =>
  new Command('restore')
    .helpGroup('For operators:')
    .description('Replace the embedded database by a backup. The service must be stopped.')
    .argument('<dir>', 'the directory of the backup')
    .action((directory: string) => restore(directory).catch(fail))

function print(text: string): void {
  process.stdout.write(text)
}

/** Prints the message of an error that the operator can resolve, and the stack of any other error. */
function fail(error: unknown): void {
  const isPlain = PLAIN_ERRORS.some((kind) => error instanceof kind)
  console.error(isPlain && error instanceof Error ? error.message : error)
  // Open connections and timers would keep the process alive.
  process.exit(1)
}
