/**
 * How a credential is sent to a backend: as `Authorization: Bearer`, or in the header `x-api-key`. The directory file
 * may name other headers.
 */
export const CREDENTIAL_HEADERS = ['bearer', 'x-api-key'] as const

export type CredentialHeader = (typeof CREDENTIAL_HEADERS)[number]
