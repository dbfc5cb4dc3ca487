/**
 * The commands of operators. Each loads its modules when it runs, so that `svc serve` does not load those of the other
 * commands.
 */
import { Command } from 'commander'
import { OperatorError } from '../../kernel/operator-error.ts'
import { inGroup } from '../command-line.ts'
import type { MakeCommand } from '../command-line.ts'
import { CommandError } from '../failures.ts'

type Force = { readonly force?: boolean }

const FORCE = 'apply the directory file even when it withdraws most of the members'

const makeServe: MakeCommand = () =>
  new Command('serve')
    .description('Start the service, with the roles of SVC_ROLE. It serves until it is interrupted.')
    .option('--force', FORCE)
    .action((options: Force) => run(async () => (await import('./serve.ts')).runService(options)))

const makeDemo: MakeCommand = () =>
  new Command('demo')
    .description('Start the service with an echo engine, show a login and calls step by step, and keep serving.')
    .option('--once', 'end after these steps')
    .action(({ once = false }: { once?: boolean }) =>
      run(async () => {
        const [{ runDemo }, { interrupted }] = await Promise.all([import('../demo/demo.ts'), import('./interrupt.ts')])
        await runDemo({ once, print, interrupted })
      }),
    )

const makeMigrate: MakeCommand = () =>
  new Command('migrate')
    .description('Apply the pending migrations to the database of SVC_DATABASE_URL.')
    .action(() => run(async () => (await import('./migrate.ts')).migrateDatabase()))

const makePrices: MakeCommand = () =>
  new Command('prices').description('Update the prices of models.').addCommand(
    new Command('update')
      .description('Check a price list of models.dev or LiteLLM, and replace SVC_PRICES_FILE by it.')
      .argument('<file>', 'the downloaded list')
      .action((file: string) => run(async () => (await import('./prices.ts')).updatePrices(file))),
  )

const makeReload: MakeCommand = () =>
  new Command('reload')
    .description(
      'Make the running service apply its directory file and its price file again, and say what has changed.',
    )
    .option('--force', FORCE)
    .action((options: Force) => run(async () => (await import('./reload.ts')).reloadService(options)))

const makeBackup: MakeCommand = () =>
  new Command('backup')
    .description('Copy the embedded database into a new directory. The service may run meanwhile.')
    .argument('<dir>', 'the new directory')
    .action((directory: string) => run(async () => (await import('./backup.ts')).backUp(directory)))

const makeRestore: MakeCommand = () =>
  new Command('restore')
    .description(
      'Replace the embedded database by a backup, or fill an empty Postgres database. Stop the service first.',
    )
    .argument('<dir>', 'the directory of the backup')
    .action((directory: string) => run(async () => (await import('./backup.ts')).restore(directory)))

const makeErase: MakeCommand = () =>
  new Command('erase')
    .description('Erase a person who has left from the database. What was used stays in the sums of their team.')
    .argument('<email>', 'the address of the person')
    .action((email: string) => run(async () => (await import('./stored-person.ts')).erasePerson(email)))

const makeExport: MakeCommand = () =>
  new Command('export')
    .description('Print what is stored of a person, as JSON.')
    .argument('<email>', 'the address of the person')
    .action((email: string) => run(async () => (await import('./stored-person.ts')).exportPerson(email)))

/** The commands of operators, in the order of the help. They ask no deployment, so `--url` is not in their help. */
export const operatorCommands = inGroup(
  'For operators:',
  {
    serve: async () => makeServe,
    demo: async () => makeDemo,
    reload: async () => makeReload,
    backup: async () => makeBackup,
    restore: async () => makeRestore,
    export: async () => makeExport,
    erase: async () => makeErase,
    migrate: async () => makeMigrate,
    prices: async () => makePrices,
  },
  { showGlobalOptions: false },
)

function print(text: string): void {
  process.stdout.write(text)
}

/** The message of an error that the operator can resolve is printed without a stack, like those of other commands. */
async function run(command: () => Promise<void>): Promise<void> {
  try {
    await command()
  } catch (error) {
    throw error instanceof OperatorError ? new CommandError(error.message) : error
  }
}
