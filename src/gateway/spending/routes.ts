import type { Handlers } from '../../http/operation.ts'
import { callerOf } from '../../http/request.ts'
import { toLimitAnswer } from '../../spending/answers.ts'
import type { SpendingLedger } from './ledger.ts'

/** The spending limits of the caller, as this gateway enforces them. */
export function makeLimitHandlers({ spending }: { readonly spending: SpendingLedger }): Handlers<'listOwnLimits'> {
  return {
    async listOwnLimits(req, res) {
      const states = await spending.findStates(callerOf(req))
      res.status(200).json({ limits: states.map(({ limit, spent }) => toLimitAnswer(limit, spent)) })
    },
  }
}
