/** How a credential is sent to a backend: as `Authorization: Bearer`, or in the header `x-api-key`. */
export const CREDENTIAL_HEADERS = ['bearer', 'x-api-key'] as const

export type CredentialHeader = (typeof CREDENTIAL_HEADERS)[number]
