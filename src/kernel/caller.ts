/** What a member of a team may do there. */
export type Role = 'member' | 'admin'

/** Who makes a request: an account, in one team, through one session. */
export type Caller = {
  readonly accountId: string
  readonly invitationId: string
  /** Of the device session or of the browser session. */
  readonly sessionId: string
  readonly sessionKind: 'device' | 'browser'
  readonly organization: string
  /** `@organization/name`. */
  readonly team: string
  readonly role: Role
  /** When the person proved who they are in this session; null when another session vouched for it. */
  readonly authenticatedAt: Date | null
}
