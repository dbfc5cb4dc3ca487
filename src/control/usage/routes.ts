import type { Database } from '../../database/client.ts'
import type { FindMembership } from '../../directory/members.ts'
import { ApiError } from '../../http/errors.ts'
import type { Handlers } from '../../http/operation.ts'
import { callerOf } from '../../http/request.ts'
import type { Clock } from '../../kernel/clock.ts'
import { formatTeamName } from '../../kernel/team-name.ts'
import { findMemberTeam, requireAdmin } from '../team-access.ts'
import { toFileName, writeCsv } from './csv.ts'
import type { UsageGrouping, UsageReport } from './report.ts'
import { choosePeriod, writePeriodMistake } from './rules.ts'
import type { ReportPeriod } from './rules.ts'
import { makeUsageStore } from './store.ts'
import type { ReportSubject } from './store.ts'

type Needs = { readonly database: Database; readonly findMembership: FindMembership; readonly clock: Clock }

type Query = Partial<ReportPeriod> & { readonly by?: UsageGrouping }

/** Reports on what calls used: one's own, and those of a team for its admins. */
export function makeUsageHandlers({
  database,
  findMembership,
  clock,
}: Needs): Handlers<'getOwnUsage' | 'getTeamUsage'> {
  const usage = makeUsageStore(database)

  async function report(subject: ReportSubject, { by = 'day', ...given }: Query): Promise<UsageReport> {
    const now = clock.now()
    const period = choosePeriod(given, now)
    if ('mistake' in period) throw new ApiError('invalid_request', { message: writePeriodMistake(period.mistake) })
    const { rows, isTruncated, total } = await usage.findSums({ subject, period, by, now })
    return { team: subject.team, ...period, by, rows, truncated: isTruncated, total }
  }

  return {
    async getOwnUsage(req, res) {
      const { team, accountId } = callerOf(req)
      send(req, res, await report({ team, accountId }, req.query))
    },

    async getTeamUsage(req, res) {
      const { team, membership } = await findMemberTeam(findMembership, req.params.team, callerOf(req).accountId)
      requireAdmin(membership.role)
      send(req, res, await report({ team: formatTeamName(team), accountId: null }, req.query))
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
  res.attachment(toFileName(report)).type('text/csv').end(writeCsv(report))
}
