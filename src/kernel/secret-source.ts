import type { Secret } from './secret.ts'

/** Where a secret is: in an environment variable, or in a file. Exactly one of them is given. */
export type SecretSource = { readonly env: string | null; readonly file: string | null }

/** Reads a secret; a mistake says what is wrong with its source, as the end of a sentence that names the source's field. */
export type ReadSecret = (source: SecretSource) => { readonly secret: Secret } | { readonly mistake: string }
