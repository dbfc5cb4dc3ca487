import type { Clock } from '../../kernel/clock.ts'
import type { DevicePlace } from './rules.ts'
import type { DeviceAdmin, TeamDevice, TeamDeviceStore } from './store.ts'

/** The signed-in devices of a team, for the API and the page. */
export type TeamDevices = {
  /** A page of the list. `next`: the last device of the page; null when it is the last page. */
  listPage(
    teamId: string,
    before: DevicePlace | null,
    limit: number,
  ): Promise<{ readonly shown: readonly TeamDevice[]; readonly next: TeamDevice | null }>
  /** Signs a device out; false when the team has no signed-in device with this id. */
  signOut(id: string, teamId: string, admin: DeviceAdmin): Promise<boolean>
}

type Needs = {
  readonly store: TeamDeviceStore
  /** Tells the gateway of this process that a device session has ended. */
  readonly onSessionEnd: (id: string) => void
  readonly clock: Clock
}

export function makeTeamDevices({ store, onSessionEnd, clock }: Needs): TeamDevices {
  return {
    async listPage(teamId, before, limit) {
      // One more than asked, to see whether there is another page.
      const found = await store.list(teamId, before, limit + 1, clock.now())
      const shown = found.slice(0, limit)
      return { shown, next: found.length > shown.length ? (shown.at(-1) ?? null) : null }
    },

    async signOut(id, teamId, admin) {
      const hasEnded = await store.signOut(id, teamId, admin, clock.now())
      if (hasEnded) onSessionEnd(id)
      return hasEnded
    },
  }
}
