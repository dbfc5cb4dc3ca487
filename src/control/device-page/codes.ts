import { ApiError } from '../../http/errors.ts'
import { networkKey, refundAll, tryTakeAll } from '../../http/rate-limit.ts'
import type { RateLimit } from '../../http/rate-limit.ts'
import type { Actor } from '../../kernel/caller.ts'
import type { Clock } from '../../kernel/clock.ts'
import type { Logger } from '../../log.ts'
import type { FoundLogin } from '../device-login/rows.ts'
import { plainUserCode } from '../device-login/user-code.ts'
import { judgeCode } from './rules.ts'
import type { UserCodeStore } from './store.ts'

/** What a user code leads to. */
export type Lookup = { readonly verdict: 'open'; readonly login: FoundLogin } | CodeDecision

/** A login that is decided, or what prevented the decision. */
export type CodeDecision =
  | { readonly verdict: 'approved' | 'denied'; readonly login: FoundLogin }
  | { readonly verdict: 'not_found' | 'expired' }
  | { readonly verdict: 'too_many'; readonly waitSeconds: number }

/** Finds and decides logins of the caller's account by their user codes. */
export type UserCodes = {
  find(actor: Actor, userCode: string): Promise<Lookup>
  /** Throws `authenticate_first` when the session has just ended. */
  decide(actor: Actor, userCode: string, wanted: 'approved' | 'denied'): Promise<CodeDecision>
}

/** Limits of wrong user codes. A code of eight letters must not be open to guessing (RFC 8628, section 5.1). */
export type CodeLimits = { readonly session: RateLimit; readonly account: RateLimit; readonly network: RateLimit }

type Needs = {
  readonly logins: UserCodeStore
  readonly limits: CodeLimits
  readonly clock: Clock
  readonly log: Logger
}

/** Makes the look-up and the decision, which count wrong codes by session, account and network. */
export function makeUserCodes({ logins, limits, clock, log }: Needs): UserCodes {
  async function find(actor: Actor, userCode: string): Promise<Lookup> {
    const counters = [
      { limit: limits.session, key: actor.sessionId },
      { limit: limits.account, key: actor.accountId },
      { limit: limits.network, key: networkKey(actor.ip) },
    ]
    // Every try counts until its code turns out to be known, so that concurrent guesses cannot pass the limit together.
    // After too many wrong codes the right one is refused too; otherwise guessing would still find it.
    const waitSeconds = await tryTakeAll(counters)
    if (waitSeconds > 0) return { verdict: 'too_many', waitSeconds }
    let isWrong = false
    try {
      const found = await lookUp(actor, userCode)
      isWrong = found.verdict === 'not_found'
      return found
    } finally {
      if (!isWrong) await refundAll(counters)
    }
  }

  async function lookUp(actor: Actor, userCode: string): Promise<Exclude<Lookup, { verdict: 'too_many' }>> {
    const login = await logins.findByUserCode(plainUserCode(userCode), actor)
    const verdict = login ? judgeCode(login, clock.now()) : 'not_found'
    if (!login || verdict === 'not_found') return { verdict: 'not_found' }
    return verdict === 'expired' ? { verdict } : { verdict, login }
  }

  return {
    find,
    async decide(actor, userCode, wanted) {
      const found = await find(actor, userCode)
      if (found.verdict !== 'open') return found

      const { login } = found
      const now = clock.now()
      const decision = { via: 'user_code', by: actor, ip: actor.ip } as const
      const decides = wanted === 'approved' ? logins.approve : logins.deny
      if (await decides(login, now, decision)) {
        log.info({ loginId: login.id, via: decision.via }, `device_login.${wanted}`)
        return { verdict: wanted, login }
      }
      // Another request was faster: report what it decided. When none was, the session of the caller has ended.
      const current = await lookUp(actor, userCode)
      if (current.verdict === 'open') throw new ApiError('authenticate_first')
      return current
    },
  }
}
