import type { OnCallerEnd } from '../../kernel/caller.ts'
import type { Clock } from '../../kernel/clock.ts'
import { findPage } from '../paging.ts'
import type { Page, TimeCursor } from '../paging.ts'
import type { TeamActor } from '../team-access.ts'
import type { TeamDevice, TeamDeviceStore } from './store.ts'

/** The signed-in devices of a team, for the API and the page. */
export type TeamDevices = {
  listPage(teamId: string, before: TimeCursor | null, limit: number): Promise<Page<TeamDevice>>
  /** Signs a device out; false when the team has no signed-in device with this id. */
  signOut(admin: TeamActor, id: string): Promise<boolean>
}

type Needs = {
  readonly store: TeamDeviceStore
  readonly onCallerEnd: OnCallerEnd
  readonly clock: Clock
}

/** Makes the functions that the API and the devices page share. */
export function makeTeamDevices({ store, onCallerEnd, clock }: Needs): TeamDevices {
  return {
    listPage: (teamId, before, limit) => findPage(limit, (count) => store.list(teamId, before, count, clock.now())),

    async signOut(admin, id) {
      const hasEnded = await store.signOut(admin, id, clock.now())
      if (hasEnded) onCallerEnd(id)
      return hasEnded
    },
  }
}
