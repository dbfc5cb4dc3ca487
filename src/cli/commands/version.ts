import { Command } from 'commander'
import packageJson from '../../../package.json' with { type: 'json' }
import type { MakeCommand } from '../command-line.ts'

export const makeVersion: MakeCommand = ({ output }) =>
  new Command('version').description('Print the version.').action(() => output.print(packageJson.version))
