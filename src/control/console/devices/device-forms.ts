import type { Html } from '../../../http/page.ts'
import type { TimeCursor } from '../../paging.ts'
import type { TeamDevices } from '../../team-devices/changes.ts'
import type { TeamNotice } from '../notices.ts'
import type { Viewer } from '../viewer.ts'
import { teamDevicesPage } from './devices-page.ts'

/** The devices page and its form. */
export type DeviceForms = {
  render(
    admin: Viewer,
    content: { readonly before: TimeCursor | null; readonly notice: TeamNotice | null },
  ): Promise<Html>
  signOut(admin: Viewer, sessionId: string): Promise<TeamNotice>
}

const DEVICES_OF_PAGE = 50

/** Makes the devices page and its form. */
export function makeDeviceForms({ devices }: { readonly devices: TeamDevices }): DeviceForms {
  return {
    async render(admin, { before, notice }) {
      const { shown, last } = await devices.listPage(admin.teamId, before, DEVICES_OF_PAGE)
      return teamDevicesPage(admin, { devices: shown, before, next: last, notice })
    },

    async signOut(admin, sessionId) {
      const hasEnded = await devices.signOut(admin, sessionId)
      return hasEnded ? 'device_signed_out' : 'unknown_device'
    },
  }
}
