import type { Prisma } from '../../../generated/prisma/client.ts'
import { formatTeamName } from '../../kernel/team-name.ts'
import type { DeviceLogin } from './rules.ts'

/** A login with the account and team that it is for. */
export type FoundLogin = DeviceLogin & {
  readonly id: string
  readonly invitationId: string
  readonly accountId: string
  readonly email: string
  readonly organization: string
  readonly team: string
  readonly deviceId: string
  readonly deviceName: string
  /** The OAuth client that started the login; null when it named none. */
  readonly clientId: string | null
  readonly userCode: string | null
  readonly startIp: string
  readonly createdAt: Date
  readonly approvedVia: 'mail' | 'session' | 'user_code' | null
  /** The device named no account. The login is shown as the caller's, and becomes the caller's by approving it. */
  readonly unnamed: boolean
}

/** A login whose device named no account, and that is not approved. */
export type UnnamedLogin = DeviceLogin & Pick<FoundLogin, 'id' | 'clientId'> & { readonly invitationId: null }

/** What is read with each login. */
export const WITH_PEOPLE = {
  invitation: { include: { account: true, team: { include: { organization: true } } } },
  deviceSession: { select: { generation: true, revokedAt: true } },
} as const satisfies Prisma.DeviceLoginInclude

export type LoginRow = Prisma.DeviceLoginGetPayload<{ include: typeof WITH_PEOPLE }>
type InvitationRow = NonNullable<LoginRow['invitation']>

/** A login of a row that has an invitation. */
export function toNamedLogin(row: LoginRow): FoundLogin {
  if (!row.invitation) throw new Error('This login has no account.')
  return toLogin(row, row.invitation)
}

/** A login as one of this invitation: its own, or the caller's when it has none. */
export function toLogin(row: LoginRow, invitation: InvitationRow): FoundLogin {
  const organization = invitation.team.organization.name
  return {
    ...toState(row, invitation),
    id: row.id,
    invitationId: invitation.id,
    accountId: invitation.accountId,
    email: invitation.account.email,
    organization,
    team: formatTeamName({ organization, name: invitation.team.name }),
    deviceId: row.deviceId,
    deviceName: row.deviceName,
    clientId: row.clientId,
    userCode: row.userCode,
    startIp: row.startIp,
    createdAt: row.createdAt,
    approvedVia: row.approvedVia,
    unnamed: row.invitationId === null,
  }
}

/** The part of a row that the rules read. */
export function toState(row: LoginRow, invitation: InvitationRow | null): DeviceLogin {
  const { deviceSession } = row
  return {
    status: row.status,
    expiresAt: row.expiresAt,
    approvedAt: row.approvedAt,
    lastPolledAt: row.lastPolledAt,
    invited: !invitation?.revokedAt,
    session: deviceSession && { generation: deviceSession.generation, revoked: deviceSession.revokedAt !== null },
  }
}
