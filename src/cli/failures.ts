import { codeOf, explainMissingDirectory } from '../kernel/error-code.ts'
import { SvcError } from '../sdk/errors.ts'
import { TokenFileError } from '../sdk/node.ts'

/** The exit statuses of every command. */
export const EXIT = { failed: 1, wrongUsage: 2, notSignedIn: 3, interrupted: 130 } as const

/** A failure that people can act on. Its message is printed, without a stack. */
export class CommandError extends Error {
  override readonly name = 'CommandError'
  readonly exitStatus: number

  constructor(message: string, exitStatus: number = EXIT.failed) {
    super(message)
    this.exitStatus = exitStatus
  }
}

/** The deployment did not answer: there is no connection to it, or another server has answered in its place. */
export class UnreachableError extends CommandError {}

/** The error for arguments that are valid one by one, but wrong in combination or in this situation. */
export function wrongUsage(message: string): CommandError {
  return new CommandError(message, EXIT.wrongUsage)
}

/** The error when this machine has no credentials for a deployment, or for any deployment when `url` is null. */
export function notSignedIn(url: string | null): CommandError {
  const [where, argument] = url === null ? ['', 'URL'] : [` to ${url}`, url]
  return new CommandError(`You are not signed in${where}. Run: svc login ${argument}`, EXIT.notSignedIn)
}

/** The error when the deployment does not accept the stored credentials any more. */
export function sessionEnded(url: string): CommandError {
  const why = 'It was signed out, withdrawn, or not used for too long.'
  return new CommandError(`Your session at ${url} has ended. ${why} Run: svc login ${url}`, EXIT.notSignedIn)
}

function signInAgain(login: string): string {
  return (
    `This needs a sign-in that is at most 15 minutes old. Run ${login}, approve it with the link in the email, and ` +
    'repeat the command.'
  )
}

/** Why a file cannot be read or written, by the error code of Node.js. */
const FILE_PROBLEMS: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file',
  EACCES: 'you lack the permission',
  EPERM: 'you lack the permission',
  EROFS: 'its disk is read-only',
  ENOSPC: 'its disk is full',
  EDQUOT: 'your disk quota is used up',
  ENOTDIR: 'a part of its path is no directory',
  EEXIST: 'a part of its path is no directory',
  EISDIR: 'it is a directory',
  ERR_FS_EISDIR: 'it is a directory',
  ELOOP: 'its links lead in a circle',
  EIO: 'its disk has a fault',
  EBUSY: 'another program uses it',
  EMFILE: 'too many files are open',
}

/** The codes of problems that only a file that is written can have. */
const ONLY_WRITING: ReadonlySet<string> = new Set(['ENOSPC', 'EDQUOT', 'EROFS'])

/**
 * The error as a message for people, with its exit status; null for a bug. `url`: the deployment that the command was
 * given.
 */
export function toCommandError(error: unknown, url?: string): CommandError | null {
  if (error instanceof CommandError) return error
  if (error instanceof TokenFileError) return new CommandError(error.message)
  if (error instanceof Error && error.name === 'AbortError') return new CommandError('Interrupted.', EXIT.interrupted)
  const fileProblem = findFileProblem(error)
  if (fileProblem !== null && error instanceof Error) {
    return new CommandError(`${nameOfFile(error)} cannot be used: ${fileProblem}.`)
  }
  if (isBrokenAnswer(error)) return new UnreachableError(BROKEN_ANSWER)
  if (!(error instanceof SvcError)) return null
  const login = url === undefined ? 'svc login' : `svc login ${url}`
  if (error.code === 'reauthenticate') return new CommandError(signInAgain(login))
  const request = error.requestId === null ? '' : ` (request ${error.requestId})`
  if (error.status !== 401) return new CommandError(`${error.message}${request}`)
  return new CommandError(`${error.message} Run: ${login}`, EXIT.notSignedIn)
}

/** The same as `toCommandError`, for a command that goes on after the error. Throws a bug again. */
export function requireCommandError(error: unknown, url?: string): CommandError {
  const known = toCommandError(error, url)
  if (!known) throw error
  return known
}

const BROKEN_ANSWER =
  'The connection broke, or stalled, before the whole answer had arrived. Try again; if it stays like this, tell ' +
  'your operator.'

/** Whether an answer had begun and its rest did not arrive. `fetch` of Node.js says only in a message that it broke. */
function isBrokenAnswer(error: unknown): boolean {
  return error instanceof Error && (error.message === 'terminated' || error.name === 'TimeoutError')
}

/** The file that an error is about. Node.js does not name one that was open already. */
function nameOfFile(error: Error): string {
  // Of a copy, only the file that is written needs space.
  if ('dest' in error && ONLY_WRITING.has(codeOf(error) ?? '')) return String(error.dest)
  return 'path' in error ? String(error.path) : 'A file'
}

/** Why a file cannot be read or written, in words; null for other errors. */
export function findFileProblem(error: unknown): string | null {
  const ofDirectory = explainMissingDirectory(error)
  return ofDirectory === null ? (FILE_PROBLEMS[codeOf(error) ?? ''] ?? null) : `it ${ofDirectory}`
}
