import type { Request } from 'express'
import type { FindMembership } from '../../directory/memberships.ts'
import { ApiError } from '../../http/errors.ts'
import type { Handlers } from '../../http/operation.ts'
import { asExpress, callerOf } from '../../http/request.ts'
import type { Clock } from '../../kernel/clock.ts'
import { toEmail } from '../../kernel/email.ts'
import { formatTeamName } from '../../kernel/team-name.ts'
import type { TeamName } from '../../kernel/team-name.ts'
import { findPage, readCursor } from '../paging.ts'
import { findMemberTeam } from '../team-access.ts'
import { choosePosition, EVENT_STREAM, NDJSON, readSessionCursor, writeSessionCursor } from './rules.ts'
import type { StreamFormat } from './rules.ts'
import type { AgentSessionStore, ListedSession } from './store.ts'
import type { SessionStreams } from './streams.ts'

type Needs = {
  readonly sessions: Pick<AgentSessionStore, 'list' | 'findPerson' | 'findServiceAccount'>
  readonly streams: Pick<SessionStreams, 'open'>
  readonly findMembership: FindMembership
  readonly clock: Clock
}

type Operations = 'listAgentSessions' | 'streamAgentSession'

const DEFAULT_LIMIT = 50

/** What the names of service accounts begin with; email addresses contain no colon. */
const SERVICE = 'service:'

/** Sessions of agents, for the members of their team. */
export function makeAgentSessionHandlers({ sessions, streams, findMembership, clock }: Needs): Handlers<Operations> {
  async function findOwner(team: TeamName, account: string, sessionId: string): Promise<string> {
    const name = readAccount(account)
    const accountId = name.startsWith(SERVICE)
      ? await sessions.findServiceAccount(formatTeamName(team), name, sessionId)
      : await sessions.findPerson(team, name)
    if (accountId === null)
      throw new ApiError('not_found', { message: 'This account has no such session in the team.' })
    return accountId
  }

  return {
    async listAgentSessions(req, res) {
      const { account, limit = DEFAULT_LIMIT, before } = req.query
      const { team } = await findMemberTeam(findMembership, req.params.team, callerOf(req).accountId)
      const query = {
        team: formatTeamName(team),
        account: account === undefined ? null : readAccount(account),
        before: readCursor('before', before, readSessionCursor),
      }
      const { shown, last } = await findPage(limit, (count) => sessions.list({ ...query, limit: count }, clock.now()))
      res.status(200).json({ sessions: shown.map(toAgentSession), next: last && writeSessionCursor(last) })
    },

    async streamAgentSession(req, res) {
      const { accountId, sessionId, sessionKind } = callerOf(req)
      const { team: teamName } = await findMemberTeam(findMembership, req.query.team, accountId)
      const { account, after } = req.query
      const owner = account === undefined ? accountId : await findOwner(teamName, account, req.params.sessionId)
      const team = formatTeamName(teamName)
      const [request, response] = asExpress(req, res)
      const format = chooseFormat(request)
      if (request.isHead) return void response.status(200).type(format.mediaType).end()
      streams.open(response, {
        session: { team, accountId: owner, sessionId: req.params.sessionId },
        after: choosePosition(after, request.get('Last-Event-ID')),
        format,
        access: { accountId, sessionId, sessionKind, team },
      })
    },
  }
}

function chooseFormat(req: Request): StreamFormat {
  return req.accepts([NDJSON.mediaType, EVENT_STREAM.mediaType]) === EVENT_STREAM.mediaType ? EVENT_STREAM : NDJSON
}

/** An email address in the form in which it is stored, or `service:NAME` as it is. */
function readAccount(text: string): string {
  if (/^service:[\x21-\x7e]+$/.test(text)) return text
  const email = toEmail(text)
  if (email !== null) return email
  throw new ApiError('invalid_request', { message: '"account" is neither an email address nor service:NAME.' })
}

function toAgentSession(session: ListedSession) {
  const { sessionId, account, model, calls, failedCalls, runningCalls, inputTokens, outputTokens } = session
  const { startedAt, lastActiveAt } = session
  return {
    id: sessionId,
    account,
    model,
    calls,
    failedCalls,
    runningCalls,
    tokens: { input: Number(inputTokens), output: Number(outputTokens) },
    startedAt: startedAt.toISOString(),
    // It is kept to the minute, which may have begun before the session.
    lastActiveAt: (lastActiveAt < startedAt ? startedAt : lastActiveAt).toISOString(),
  }
}
