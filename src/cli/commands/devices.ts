import { Command } from 'commander'
import { unwrap } from '../../sdk/index.ts'
import { findById, ID_HELP } from '../arguments/find-by-id.ts'
import { actionOf } from '../command-line.ts'
import type { Cli, GlobalOptions, MakeCommand } from '../command-line.ts'
import { openDeployment } from '../deployment/deployment.ts'
import { CommandError } from '../failures.ts'
import { withSameTarget } from '../same-target.ts'
import { toLocalTime } from '../terminal/local-time.ts'

type Options = GlobalOptions & { readonly json?: boolean }

export const makeDevices: MakeCommand = (cli) =>
  new Command('devices')
    .description('List the devices that are signed in to your account.')
    .option('--json', 'print JSON')
    .action(actionOf(cli, listDevices))
    .addCommand(
      new Command('revoke')
        .description('Sign a device out.')
        .argument('<id>', ID_HELP)
        .action(actionOf(cli, revokeDevice)),
    )

async function listDevices(cli: Cli, { url, json }: Options): Promise<void> {
  const { output } = cli
  const { control } = await openDeployment(cli, url)
  const { devices } = await unwrap(control.GET('/v1/devices'))
  if (json) return output.json(devices)
  output.table(
    ['ID', 'DEVICE', 'TEAM', 'LAST SEEN', 'FROM', ''],
    devices.map((device) => [
      device.id,
      device.kind === 'browser' ? `${device.deviceName} (browser)` : device.deviceName,
      device.team,
      toLocalTime(device.lastSeenAt),
      device.lastIp,
      device.current ? 'this one' : '',
    ]),
  )
}

async function revokeDevice(cli: Cli, start: string, { url, json }: Options): Promise<void> {
  const { output } = cli
  const { control } = await openDeployment(cli, url)
  const { devices } = await unwrap(control.GET('/v1/devices'))
  const device = findById(devices, start, { plural: 'devices' })
  if (!device)
    throw new CommandError(`No device of yours has the ID "${start}". Run: ${withSameTarget('svc devices', { url })}`)
  const done = await unwrap(control.DELETE('/v1/devices/{id}', { params: { path: { id: device.id } } }))
  if (json) return output.json(done)
  output.print(`Signed out: ${device.deviceName} (${device.id}).`)
}
