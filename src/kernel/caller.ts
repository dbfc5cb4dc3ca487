/** A person's role in a team: an admin may also manage its invitations. */
export type Role = 'member' | 'admin'

/** The authenticated origin of a request: an account, acting in one team, through one session. */
export type Caller = {
  readonly accountId: string
  readonly invitationId: string
  /** The id of a device session or of a browser session, as `sessionKind` says. */
  readonly sessionId: string
  readonly sessionKind: 'device' | 'browser'
  readonly organization: string
  /** `@organization/name`. */
  readonly team: string
  readonly role: Role
  /** When the person last authenticated in this session; null when another session approved this one. */
  readonly authenticatedAt: Date | null
}
