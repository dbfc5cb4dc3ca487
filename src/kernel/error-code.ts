/** The code of an error of Node.js or of a library, such as `ENOENT`; null without one. */
export function codeOf(error: unknown): string | null {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : null
}

/** The message of an error, or its code, because errors of hosts with several addresses have no message; else null. */
export function messageOrCode(error: Error): string | null {
  return error.message || codeOf(error)
}

/** Whether an error has one of these codes. */
export function hasCode(error: unknown, ...codes: readonly string[]): boolean {
  const code = codeOf(error)
  return code !== null && codes.includes(code)
}

/**
 * Why a directory could not be created, where `mkdir` failed with ENOENT; null for other errors. Where its parents are
 * created too, Node.js also reports this code for a read-only file system.
 */
export function explainMissingDirectory(error: unknown): string | null {
  const isOfDirectory = error instanceof Error && 'syscall' in error && error.syscall === 'mkdir'
  return isOfDirectory && hasCode(error, 'ENOENT')
    ? 'cannot be created, because its disk is read-only or missing'
    : null
}

/** The result of work on a file or directory, or `otherwise` when that does not exist. */
export async function unlessMissing<T, U>(work: Promise<T>, otherwise: U): Promise<T | U> {
  return work.catch((error: unknown) => {
    if (hasCode(error, 'ENOENT')) return otherwise
    throw error
  })
}

/** The codes of Node.js for a TLS certificate that no trusted authority has signed. */
export const UNTRUSTED_CERTIFICATE: readonly string[] = [
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
]
