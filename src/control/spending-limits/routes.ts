import { ApiError } from '../../http/errors.ts'
import type { Handlers } from '../../http/operation.ts'
import type { FindTeamAdmin } from '../team-access.ts'
import type { TeamLimits } from './changes.ts'
import { MAX_LIMITS } from './store.ts'
import type { LimitRefusal } from './store.ts'

type Needs = { readonly limits: TeamLimits; readonly findTeamAdmin: FindTeamAdmin }

type Operations =
  'listSpendingLimits' | 'createSpendingLimit' | 'getSpendingLimit' | 'changeSpendingLimit' | 'removeSpendingLimit'

/** The spending limits of a team, for its admins. */
export function makeSpendingLimitHandlers({ limits, findTeamAdmin }: Needs): Handlers<Operations> {
  return {
    async listSpendingLimits(req, res) {
      const { teamId } = await findTeamAdmin(req.params.team, req)
      res.status(200).json({ limits: await limits.list(teamId) })
    },

    async createSpendingLimit(req, res) {
      const admin = await findTeamAdmin(req.params.team, req)
      const { subject, of, period, amountNanoUsd } = req.body
      const made = await limits.create(admin, { subject, of, period, amountNanoUsd })
      if (typeof made === 'string') throw toRefusal(made)
      res.status(201).json(made)
    },

    async getSpendingLimit(req, res) {
      const { teamId } = await findTeamAdmin(req.params.team, req)
      const limit = await limits.find(teamId, req.params.limitId)
      if (!limit) throw unknownLimit()
      res.status(200).json(limit)
    },

    async changeSpendingLimit(req, res) {
      const admin = await findTeamAdmin(req.params.team, req)
      const { amountNanoUsd } = req.body
      const limit = await limits.change(admin, req.params.limitId, amountNanoUsd)
      if (!limit) throw unknownLimit()
      res.status(200).json(limit)
    },

    async removeSpendingLimit(req, res) {
      const admin = await findTeamAdmin(req.params.team, req)
      if (!(await limits.remove(admin, req.params.limitId))) throw unknownLimit()
      res.status(200).json({ ok: true })
    },
  }
}

function unknownLimit(): ApiError {
  return new ApiError('not_found', { message: 'The team has no spending limit with this id.' })
}

function toRefusal(refusal: LimitRefusal): ApiError {
  if (refusal === 'unknown_subject') return new ApiError('invalid_request', { message: UNKNOWN_SUBJECT })
  const message =
    refusal === 'exists'
      ? 'The team has a limit for this subject and period. Change its amount (PATCH), or remove it first.'
      : `A team can have ${MAX_LIMITS} limits. Remove one first.`
  return new ApiError('conflict', { message })
}

const UNKNOWN_SUBJECT =
  'of must be the email address of a member, the id of a key, or the name of a service account of the team, as ' +
  'subject says. Leave it out for team and members.'
