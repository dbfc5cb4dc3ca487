import type { Role } from '../../kernel/caller.ts'
import { PATHS } from '../pages/forms.ts'
import { composeMail, quoteUnlinked } from './compose.ts'
import type { ComposedMail } from './compose.ts'

export type InvitationMail = {
  /** `@organization/name` */
  readonly team: string
  readonly role: Role
  /** The address of the admin who invited the person. */
  readonly invitedBy: string
  /** The public address of the deployment. */
  readonly baseUrl: string
  /** Where the person downloads the command; null: the deployment does not offer it. */
  readonly commandUrl: string | null
}

/** Tells a person that an admin invited them: what svc is, and how to sign in. */
export function invitationMail({ team, role, invitedBy, baseUrl, commandUrl }: InvitationMail): ComposedMail {
  const subject = `You are invited to ${team} on svc`
  return composeMail({ subject, title: 'You are invited to svc' }, [
    `${quoteUnlinked(invitedBy)} has invited you to the team ${team}${role === 'admin' ? ' as an admin' : ''}. ` +
      'svc gives the coding agents and SDKs of a team one login and one address.',
    { kind: 'link', label: 'Sign in with this email address', address: `${baseUrl}${PATHS.signIn}` },
    'There is no password: you get a link by email, and can then add a passkey.',
    'To use a coding agent, you need the command “svc” on your computer.' +
      `${commandUrl ? '' : ' Ask the person who invited you for its file.'} It needs Node.js 20.12 or newer.`,
    { kind: 'command', label: 'Install the command', command: `npm install -g ${commandUrl ?? 'FILE'}` },
    { kind: 'command', label: 'Then sign your computer in', command: `svc login ${baseUrl}` },
    'After that, “svc run codex”, “svc run claude” or “svc run opencode” starts the agent.',
    'If you do not know the person who invited you, ignore this email. Nothing happens without your sign-in.',
  ])
}
