import { Command } from 'commander'
import { NotSignedInError, unwrap } from '../../sdk/index.ts'
import type { SvcClient } from '../../sdk/index.ts'
import type { Cli, GlobalOptions, MakeCommand } from '../command-line.ts'
import { openDeployment } from '../deployment/deployment.ts'
import { CommandError, toCommandError } from '../failures.ts'

type Options = GlobalOptions & { readonly everywhere?: boolean }

export const makeLogout: MakeCommand = (cli) =>
  new Command('logout')
    .description('Sign this machine out, and forget its credentials.')
    .option('--everywhere', 'sign every device and browser of the account out')
    .action((_options: object, command: Command) => logout(cli, command.optsWithGlobals<Options>()))

/** Removes the credentials of this machine, also when the deployment cannot be reached. */
async function logout({ environment, output }: Cli, { url, everywhere = false }: Options): Promise<void> {
  const deployment = await openDeployment(environment.folder, url)
  const ended = await endSession(deployment.control, everywhere).catch(
    (error: unknown) => toCommandError(error) ?? error,
  )
  const tokens = deployment.profiles.tokens(deployment.url)
  await tokens.exclusively(() => tokens.save(null))
  if (ended instanceof CommandError) {
    throw new CommandError(
      `The credentials of this machine are forgotten, but ${deployment.url} was not told: ${ended.message} ` +
        'Revoke this device from another one, or sign in again and run svc logout.',
    )
  }
  if (ended instanceof Error) throw ended
  const devices = typeof ended === 'number' ? ` and from ${ended} devices in all` : ''
  output.print(`Signed out of ${deployment.url}${devices}.`)
}

/** The number of devices that `everywhere` signed out, else null. A session that has already ended is no failure. */
async function endSession(control: SvcClient, everywhere: boolean): Promise<number | null> {
  try {
    if (everywhere)
      return (await unwrap(control.POST('/v1/auth/logout-everywhere', { body: { scope: 'all' } }))).devices
    await unwrap(control.POST('/v1/auth/logout'))
  } catch (error) {
    if (!(error instanceof NotSignedInError)) throw error
  }
  return null
}
