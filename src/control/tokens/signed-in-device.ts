/** A device that signs in, and with what: an approved login, or a passkey. */
export type SignedInDevice = {
  /** Null for a passkey. */
  readonly loginId: string | null
  /** Null for a login. */
  readonly passkeyId: string | null
  readonly invitationId: string
  readonly deviceId: string
  readonly deviceName: string
  /** Whether it is a browser, whose tokens are in cookies. */
  readonly isBrowser: boolean
  /** The OAuth client; null when it named none. */
  readonly clientId: string | null
}
