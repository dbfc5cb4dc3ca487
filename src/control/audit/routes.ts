import { ApiError } from '../../http/errors.ts'
import type { Handlers } from '../../http/operation.ts'
import { toEmail } from '../../kernel/email.ts'
import { findPage, readCursor } from '../paging.ts'
import type { FindTeamAdmin } from '../team-access.ts'
import { readAuditCursor, toAuditEvent, writeAuditCursor } from './rules.ts'
import type { AuditStore } from './store.ts'

type Needs = { readonly audit: AuditStore; readonly findTeamAdmin: FindTeamAdmin }

const DEFAULT_LIMIT = 100

/** The audit events of a team, for its admins. */
export function makeAuditHandlers({ audit, findTeamAdmin }: Needs): Handlers<'listAuditEvents'> {
  return {
    async listAuditEvents(req, res) {
      const { actor, action = null, from, to, limit = DEFAULT_LIMIT, before } = req.query
      const { teamId } = await findTeamAdmin(req.params.team, req)
      const query = {
        actor: actor === undefined ? null : readActor(actor),
        action,
        from: readTime('from', from),
        to: readTime('to', to),
        before: readCursor('before', before, readAuditCursor),
      }
      const { shown, last } = await findPage(limit, (count) => audit.find(teamId, { ...query, limit: count }))
      res.status(200).json({ events: shown.map(toAuditEvent), next: last && writeAuditCursor(last) })
    },
  }
}

function readActor(text: string): string {
  const actor = text === 'file' ? text : toEmail(text)
  if (actor === null) throw invalid('actor must be one email address, or "file" for the directory file.')
  return actor
}

function readTime(name: string, text: string | undefined): Date | null {
  if (text === undefined) return null
  const time = new Date(text)
  const year = time.getUTCFullYear()
  // PostgreSQL has no year 0.
  const isKnown = year >= 1 && year <= 9999
  if (!isKnown) throw invalid(`${name} must be a time, such as 2026-11-21T09:00:00Z.`)
  return time
}

function invalid(message: string): ApiError {
  return new ApiError('invalid_request', { message })
}
