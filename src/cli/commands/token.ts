import { Command } from 'commander'
import type { GlobalOptions, MakeCommand } from '../command-line.ts'
import { openDeployment } from '../deployment/deployment.ts'

type Options = GlobalOptions & { readonly new?: boolean }

export const makeToken: MakeCommand = ({ environment, output }) =>
  new Command('token')
    .description('Print an access token that is valid for a minute at least, for scripts and agents.')
    .option('--new', 'print a new one, which is valid longest, for tools that read it once')
    .action(async (_options: object, command: Command) => {
      const { url, new: isNew = false } = command.optsWithGlobals<Options>()
      const deployment = await openDeployment(environment.folder, url)
      const noteOld = (reason: string) => output.note(`${reason} This is the last token, which may have expired.`)
      output.print(await (isNew ? deployment.newAccessToken() : deployment.accessToken(noteOld)))
    })
