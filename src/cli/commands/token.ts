import { Command } from 'commander'
import type { GlobalOptions, MakeCommand } from '../command-line.ts'
import { openDeployment } from '../deployment.ts'

export const makeToken: MakeCommand = ({ environment, output }) =>
  new Command('token')
    .description('Print an access token that is valid for a minute at least, for scripts and agents.')
    .action(async (_options: object, command: Command) => {
      const deployment = await openDeployment(environment.folder, command.optsWithGlobals<GlobalOptions>().url)
      output.print(await deployment.accessToken())
    })
