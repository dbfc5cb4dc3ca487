import type { Secret } from '../secret.ts'

/** Where a secret is: in an environment variable, or in a file. Exactly one of them is given. */
export type SecretSource = { readonly env: string | null; readonly file: string | null }

/** Reads a secret. A mistake is the end of a sentence that begins with the field that names the source. */
export type ReadSecret = (source: SecretSource) => { readonly secret: Secret } | { readonly mistake: string }
