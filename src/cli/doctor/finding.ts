import { requireCommandError } from '../failures.ts'

/** The result of one check. `text` says what was found and, for a problem, how to fix it. */
export type Finding = {
  readonly state: 'ok' | 'warning' | 'problem'
  readonly about: string
  readonly text: string
}

/** Nothing to do. `about`: what was checked. */
export const ok = (about: string, text: string): Finding => ({ state: 'ok', about, text })

/** Something that may be wrong. */
export const warning = (about: string, text: string): Finding => ({ state: 'warning', about, text })

/** Something that has to be fixed. */
export const problem = (about: string, text: string): Finding => ({ state: 'problem', about, text })

/**
 * The problem of a check that threw an error which a person can resolve. Throws any other error again. `url`: the
 * deployment that the command was given.
 */
export function problemOf(about: string, error: unknown, url?: string): Finding {
  return problem(about, requireCommandError(error, url).message)
}
