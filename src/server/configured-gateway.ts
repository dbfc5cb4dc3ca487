import type { Config } from '../config/values.ts'
import { openGateway } from '../gateway/app.ts'
import type { Gateway, GatewayNeeds } from '../gateway/app.ts'
import { openRateLimits } from '../http/rate-limit.ts'

type Needs = Omit<GatewayNeeds, 'settings' | 'openRateLimit' | 'keepAliveMs'>

/** Opens the gateway; null where this process does not serve that role. */
export function openConfiguredGateway(config: Config, needs: Needs): Gateway | null {
  if (config.role === 'control-plane') return null
  return openGateway({ ...needs, settings: config, openRateLimit: openRateLimits(needs.redis) })
}
