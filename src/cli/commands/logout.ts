import { Command } from 'commander'
import { createClient, unwrap } from '../../sdk/index.ts'
import type { SvcClient, TokenStore } from '../../sdk/index.ts'
import { TokenFileError } from '../../sdk/node.ts'
import { actionOf } from '../command-line.ts'
import type { Cli, GlobalOptions, MakeCommand } from '../command-line.ts'
import { findUrl, LONGEST_WAIT_SECONDS } from '../deployment/deployment.ts'
import { sendRequest } from '../deployment/http.ts'
import { openProfiles } from '../deployment/profiles.ts'
import { CommandError, EXIT, notSignedIn, requireCommandError, toCommandError } from '../failures.ts'

type Options = GlobalOptions & { readonly everywhere?: boolean }

export const makeLogout: MakeCommand = (cli) =>
  new Command('logout')
    .description('Sign this machine out, and delete its credentials.')
    .option('--everywhere', 'sign every device and browser of the account out')
    .action(actionOf(cli, logout))

/**
 * Removes the credentials of this machine, also when the deployment cannot be reached. Does not read the profile, so
 * that a damaged one is no obstacle.
 */
async function logout({ environment, output }: Cli, { url: given, everywhere = false }: Options): Promise<void> {
  const profiles = openProfiles(environment.folder)
  const url = await findUrl(profiles, given)
  const tokens = profiles.tokens(url)
  if (!(await hasTokens(tokens))) throw notSignedIn(url)
  const control = createClient({ baseUrl: url, tokens, fetch: sendRequest, longestWaitSeconds: LONGEST_WAIT_SECONDS })
  const [ended] = await Promise.allSettled([output.busy('Signing out', () => endSession(control, everywhere))])
  const [deleted] = await Promise.allSettled([forget(tokens)])
  if (ended.status === 'rejected') throw toLogoutError(url, ended.reason, deleted)
  if (deleted.status === 'rejected') throw toLeftError(url, deleted.reason)
  const devices = ended.value === null ? '' : ` and from ${ended.value} devices in all`
  output.print(`Signed out of ${url}${devices}.`)
}

/** Whether there are tokens. Damaged ones count, because they are removed too. */
async function hasTokens(tokens: TokenStore): Promise<boolean> {
  try {
    return (await tokens.load()) !== null
  } catch (error) {
    if (error instanceof TokenFileError) return true
    throw error
  }
}

/**
 * Removes tokens under their lock, so that a refresh of another process does not store new ones afterwards. The lock
 * cannot be made on a full disk, where no other process can store tokens either.
 */
function forget(tokens: TokenStore): Promise<void> {
  const remove = () => tokens.save(null)
  return tokens.exclusively(remove).catch(remove)
}

/** The number of devices that `everywhere` signed out, else null. A session that has already ended is no failure. */
async function endSession(control: SvcClient, everywhere: boolean): Promise<number | null> {
  try {
    if (everywhere)
      return (await unwrap(control.POST('/v1/auth/logout-everywhere', { body: { scope: 'all' } }))).devices
    await unwrap(control.POST('/v1/auth/logout'))
  } catch (error) {
    if (toCommandError(error)?.exitStatus !== EXIT.notSignedIn) throw error
  }
  return null
}

/** Says what to do after a logout whose request to the deployment failed. Throws a bug again. */
function toLogoutError(url: string, error: unknown, deleted: PromiseSettledResult<void>): CommandError {
  const known = requireCommandError(error)
  const what =
    deleted.status === 'fulfilled'
      ? `The credentials on this machine are deleted, but the session at ${url} may still be open`
      : `The credentials on this machine could not be deleted: ${toReason(deleted.reason)} ` +
        `Also, the session at ${url} may still be open`
  return new CommandError(
    `${what}: ${known.message} Revoke this device from another one, or sign in again and run svc logout.`,
  )
}

const toReason = (error: unknown) => toCommandError(error)?.message ?? String(error)

/** Says that the credentials are still stored, although the deployment does not accept them any more. */
function toLeftError(url: string, error: unknown): CommandError {
  const { message } = requireCommandError(error)
  return new CommandError(
    `The session at ${url} has ended, but its credentials could not be deleted from this machine: ${message}`,
  )
}
