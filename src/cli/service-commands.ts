import type { CommandTable } from './command-line.ts'

/** The commands of operators. They load the service, which takes longer than any command of people. */
export const serviceCommands: CommandTable = {
  serve: async () => (await import('./program.ts')).makeServe,
  demo: async () => (await import('./program.ts')).makeDemo,
  reload: async () => (await import('./program.ts')).makeReload,
  backup: async () => (await import('./program.ts')).makeBackup,
  restore: async () => (await import('./program.ts')).makeRestore,
  migrate: async () => (await import('./program.ts')).makeMigrate,
  prices: async () => (await import('./program.ts')).makePrices,
}
