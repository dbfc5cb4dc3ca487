import { inGroup } from './command-line.ts'

/** The commands of people that are for admins of a team only. */
export const adminCommands = inGroup('For admins of a team:', {
  'service-accounts': async () => (await import('./commands/service-accounts.ts')).makeServiceAccounts,
  invite: async () => (await import('./commands/invite.ts')).makeInvite,
  uninvite: async () => (await import('./commands/uninvite.ts')).makeUninvite,
  members: async () => (await import('./commands/members.ts')).makeMembers,
  backends: async () => (await import('./commands/backends.ts')).makeBackends,
  directory: async () => (await import('./commands/directory.ts')).makeDirectory,
  audit: async () => (await import('./commands/audit.ts')).makeAudit,
})
