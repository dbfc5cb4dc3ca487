import { adminCommands } from './admin-commands.ts'
import type { CommandTable } from './command-line.ts'

/** The commands of people, in the order of the help. Each is one file. */
export const peopleCommands: CommandTable = {
  login: async () => (await import('./commands/login.ts')).makeLogin,
  logout: async () => (await import('./commands/logout.ts')).makeLogout,
  status: async () => (await import('./commands/status.ts')).makeStatus,
  run: async () => (await import('./commands/run.ts')).makeRun,
  setup: async () => (await import('./commands/setup.ts')).makeSetup,
  token: async () => (await import('./commands/token.ts')).makeToken,
  models: async () => (await import('./commands/models.ts')).makeModels,
  chat: async () => (await import('./commands/chat.ts')).makeChat,
  doctor: async () => (await import('./commands/doctor.ts')).makeDoctor,
  usage: async () => (await import('./commands/usage.ts')).makeUsage,
  limits: async () => (await import('./commands/limits.ts')).makeLimits,
  devices: async () => (await import('./commands/devices.ts')).makeDevices,
  sessions: async () => (await import('./commands/sessions.ts')).makeSessions,
  keys: async () => (await import('./commands/keys.ts')).makeKeys,
  ...adminCommands,
  completion: async () => (await import('./commands/completion.ts')).makeCompletion,
  version: async () => (await import('./commands/version.ts')).makeVersion,
}
