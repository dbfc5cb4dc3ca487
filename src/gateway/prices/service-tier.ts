import type { Json } from '../dialects/json/read-json.ts'

/** How fast a vendor serves a call, for another price. Each vendor has other words for it. */
export type ServiceTier = 'standard' | 'fast' | 'flex'

/** The service tiers that have prices of their own. */
export const PRICED_TIERS = ['fast', 'flex'] as const satisfies readonly ServiceTier[]

/**
 * Reads the service tier that a request asks for: `speed` of the messages dialect, `service_tier` of the others, whose
 * `priority` is the older name of `fast`. Agents set them with a command, such as `/fast` of Claude Code and of Codex.
 */
export function readServiceTier({ speed, service_tier: tier }: Json): ServiceTier {
  if (speed === 'fast' || tier === 'fast' || tier === 'priority') return 'fast'
  return tier === 'flex' ? 'flex' : 'standard'
}

/**
 * The service tier whose price a call has. `word`: the vendor's word for it in the answer, which counts where the call
 * has asked for another tier than the standard one; null: there is none. Vendors serve such a call in the standard tier
 * where the other one has no room.
 */
export function toServedTier(asked: ServiceTier, word: string | null): ServiceTier {
  return asked === 'standard' || word === null || word === 'auto' ? asked : readServiceTier({ service_tier: word })
}
