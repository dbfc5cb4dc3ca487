import { Command } from 'commander'
import { actionOf } from '../command-line.ts'
import type { Cli, GlobalOptions, MakeCommand } from '../command-line.ts'
import { openDeployment } from '../deployment/deployment.ts'

type Options = GlobalOptions & { readonly new?: boolean }

export const makeToken: MakeCommand = (cli) =>
  new Command('token')
    .description('Print an access token that is valid for a minute at least, for scripts and agents.')
    .option('--new', 'print a new one, which is valid longest, for tools that read it once')
    .action(actionOf(cli, printToken))

async function printToken(cli: Cli, { url, new: isNew = false }: Options): Promise<void> {
  const { output } = cli
  const deployment = await openDeployment(cli, url)
  const noteOld = (reason: string) => output.note(`${reason} This is the last token, which may have expired.`)
  output.print(await (isNew ? deployment.newAccessToken() : deployment.accessToken(noteOld)))
}
