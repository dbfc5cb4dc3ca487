import type { DirectoryChange, DirectoryPlan } from '../../../generated/openapi.ts'
import { readAdminDirectory } from '../../directory/admin-directory.ts'
import { ApiError } from '../../http/errors.ts'
import type { Handlers } from '../../http/operation.ts'
import { actorOf } from '../../http/request.ts'
import type { ActorRequest } from '../../http/request.ts'
import type { OnCallerEnd } from '../../kernel/caller.ts'
import type { Clock } from '../../kernel/clock.ts'
import type { Logger } from '../../log.ts'
import { toChangeError } from '../directory-change.ts'
import type { AnnounceInvitation } from '../invitations/announce.ts'
import type { FindTeamAdmin } from '../team-access.ts'
import { fingerprintOfPlan } from './rules.ts'
import type { PlannedChange, TeamPlan } from './rules.ts'
import type { DirectoryPlanStore, WantedOfTeam } from './store.ts'

type Needs = {
  readonly directory: DirectoryPlanStore
  readonly findTeamAdmin: FindTeamAdmin
  readonly announce: AnnounceInvitation
  readonly onCallerEnd: OnCallerEnd
  readonly clock: Clock
  readonly log: Logger
}

/** The operations with which admins change members and models of their teams by one directory text. */
export function makeDirectoryPlanHandlers(needs: Needs): Handlers<'planDirectory' | 'applyDirectory'> {
  const { directory, findTeamAdmin, announce, onCallerEnd, clock, log } = needs

  async function readTeams(req: ActorRequest, text: string): Promise<WantedOfTeam[]> {
    const read = readAdminDirectory(text)
    if ('mistakes' in read)
      throw new ApiError('invalid_request', { message: `directory: ${read.mistakes.join('; ')}.` })
    const found: WantedOfTeam[] = []
    for (const wanted of read.teams) {
      const admin = await findTeamAdmin(wanted.team, req).catch((error: unknown) => {
        if (error instanceof ApiError) throw ofTeam(wanted.team, error)
        throw error
      })
      found.push({ admin, wanted })
    }
    return found
  }

  return {
    async planDirectory(req, res) {
      const plans = await directory.plan(await readTeams(req, req.body.directory))
      if ('kind' in plans) throw toChangeError(plans, 'model')
      res.status(200).json(toAnswer(plans))
    },

    async applyDirectory(req, res) {
      const actor = actorOf(req)
      const teams = await readTeams(req, req.body.directory)
      const applied = await directory.apply(teams, req.body.fingerprint, actor, clock.now())
      if (applied === 'reauthenticate') throw new ApiError('reauthenticate')
      if (applied === 'changed') throw new ApiError('conflict', { message: PLAN_CHANGED })
      if ('kind' in applied) throw toChangeError(applied, 'model')
      applied.ended.forEach(onCallerEnd)
      log.info({ teams: teams.map(({ admin }) => admin.teamId), by: actor.accountId }, 'team_directory.applied')
      for (const { admin, invitation } of applied.invited) await announce(invitation, admin)
      res.status(200).json(toAnswer(applied.plans))
    },
  }
}

/** The refusal of one of the teams of a directory, with its name. */
function ofTeam(team: string, { code, message }: ApiError): ApiError {
  return new ApiError(code, { message: `${team}: ${message}` })
}

const PLAN_CHANGED =
  'The team or the directory has changed since this plan was made. Nothing was applied. Make a new plan and apply that.'

function toAnswer(plans: readonly TeamPlan[]): DirectoryPlan {
  return {
    fingerprint: fingerprintOfPlan(plans),
    changes: plans.flatMap(({ team, changes }) => changes.map((change) => ({ team, ...toChange(change) }))),
    readOnly: plans.flatMap(({ team, readOnly }) => readOnly.map((entry) => ({ team, ...entry }))),
  }
}

function toChange(change: PlannedChange): Omit<DirectoryChange, 'team'> {
  if (change.kind === 'model') {
    return { kind: 'model', change: change.change, name: change.name, before: null, after: null }
  }
  if (change.kind === 'default_model') {
    const { before, after } = change
    const what = before === null ? 'added' : after === null ? 'removed' : 'changed'
    return { kind: 'default_model', change: what, name: after ?? before, before, after }
  }
  const before = change.change === 'added' ? null : change.row.role
  const after = change.change === 'removed' ? null : change.after
  return { kind: 'member', change: change.change, name: change.name, before, after }
}
