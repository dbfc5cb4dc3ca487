import type { UsageReport } from '../../../generated/openapi.ts'
import type { Database } from '../../database/client.ts'
import type { Handlers } from '../../http/operation.ts'
import { callerOf } from '../../http/request.ts'
import type { Clock } from '../../kernel/clock.ts'
import type { FindTeamAdmin } from '../team-access.ts'
import { sendCsv } from './csv.ts'
import { makeFindReport } from './find-report.ts'
import { makeUsageStore } from './store.ts'

type Needs = { readonly database: Database; readonly findTeamAdmin: FindTeamAdmin; readonly clock: Clock }

/** Reports on what calls used: one's own, and those of a team for its admins. */
export function makeUsageHandlers({ database, findTeamAdmin, clock }: Needs): Handlers<'getOwnUsage' | 'getTeamUsage'> {
  const findReport = makeFindReport({ usage: makeUsageStore(database), clock })
  return {
    async getOwnUsage(req, res) {
      const { team, accountId } = callerOf(req)
      send(req, res, await findReport({ team, accountId }, req.query))
    },

    async getTeamUsage(req, res) {
      const { team } = req.params
      await findTeamAdmin(team, req)
      send(req, res, await findReport({ team, accountId: null }, req.query))
    },
  }
}

type Answering = Handlers<'getOwnUsage'>['getOwnUsage']

/** As a table where the caller prefers one, as JSON otherwise. */
function send(
  req: Pick<Parameters<Answering>[0], 'accepts'>,
  res: Parameters<Answering>[1],
  report: UsageReport,
): void {
  res.vary('Accept')
  if (req.accepts(['application/json', 'text/csv']) !== 'text/csv') return res.status(200).json(report)
  sendCsv(res, report)
}
