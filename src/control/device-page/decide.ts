import { networkKey } from '../../http/rate-limit.ts'
import type { RateLimit } from '../../http/rate-limit.ts'
import type { Caller } from '../../kernel/caller.ts'
import type { Clock } from '../../kernel/clock.ts'
import { plainUserCode } from '../../kernel/user-code.ts'
import type { Logger } from '../../log.ts'
import { judgeCode } from '../device-login/rules.ts'
import type { DeviceLoginStore, FoundLogin } from '../device-login/store.ts'

/** What a user code leads to. */
export type Lookup =
  | { readonly verdict: 'open' | 'approved' | 'denied'; readonly login: FoundLogin }
  | { readonly verdict: 'not_found' | 'expired' }
  | { readonly verdict: 'too_many'; readonly waitSeconds: number }

/** How a login stands after somebody decided, or what kept it from being decided. */
export type Decided =
  { readonly status: 'approved' | 'denied'; readonly login: FoundLogin } | Exclude<Lookup, { login: FoundLogin }>

/** Finding and deciding a login by its user code, which only its own account can. */
export type DecideByCode = {
  find(caller: Caller, userCode: string, ip: string): Promise<Lookup>
  decide(caller: Caller, userCode: string, wanted: 'approved' | 'denied', ip: string): Promise<Decided>
}

/** Wrong codes, by whom and from where: eight letters do not bear guessing (RFC 8628, section 5.1). */
export type CodeLimits = { readonly session: RateLimit; readonly account: RateLimit; readonly network: RateLimit }

type Needs = {
  readonly logins: DeviceLoginStore
  readonly codeLimits: CodeLimits
  readonly clock: Clock
  readonly log: Logger
}

export function decideByCode({ logins, codeLimits, clock, log }: Needs): DecideByCode {
  async function find(caller: Caller, userCode: string, ip: string): Promise<Lookup> {
    const counters = [
      { limit: codeLimits.session, key: caller.sessionId },
      { limit: codeLimits.account, key: caller.accountId },
      { limit: codeLimits.network, key: networkKey(ip) },
    ]
    const waits = await Promise.all(counters.map(({ limit, key }) => limit.waitSeconds(key)))
    // Once there were too many, the right code is refused too: else it could still be found by guessing.
    if (Math.max(...waits) > 0) return { verdict: 'too_many', waitSeconds: Math.max(...waits) }

    const login = await logins.findByUserCode(plainUserCode(userCode), caller)
    const verdict = login ? judgeCode(login, clock.now()) : 'not_found'
    if (login && verdict !== 'not_found' && verdict !== 'expired') return { verdict, login }
    if (verdict === 'expired') return { verdict }
    await Promise.all(counters.map(({ limit, key }) => limit.note(key)))
    return { verdict: 'not_found' }
  }

  return {
    find,
    async decide(caller, userCode, wanted, ip) {
      const found = await find(caller, userCode, ip)
      if (!('login' in found)) return found
      const { login, verdict } = found
      if (verdict !== 'open') return { status: verdict, login }

      const now = clock.now()
      const decision = { via: 'user_code', sessionId: caller.sessionId, ip } as const
      const won = await (wanted === 'approved'
        ? logins.approveByCode(login, now, decision)
        : logins.deny(login, now, decision))
      if (won) {
        log.info({ loginId: login.id, via: decision.via }, `device_login.${wanted}`)
        return { status: wanted, login }
      }
      return statusNow(caller, userCode)
    },
  }

  /** Somebody else was first. */
  async function statusNow(caller: Caller, userCode: string): Promise<Decided> {
    const login = await logins.findByUserCode(plainUserCode(userCode), caller)
    const verdict = login ? judgeCode(login, clock.now()) : 'not_found'
    return login && (verdict === 'approved' || verdict === 'denied')
      ? { status: verdict, login }
      : { verdict: verdict === 'expired' ? 'expired' : 'not_found' }
  }
}
