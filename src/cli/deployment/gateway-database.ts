import { hasOwnGateway, refreshProfile } from './deployment.ts'
import type { Deployment } from './deployment.ts'

/** A gateway that takes longer to say whether it has a database is taken to have one. */
const ANSWER_TIMEOUT_MS = 5000

/**
 * The URL of the team's gateway if it has no database: it knows no API keys and no spending limits. Null when it has
 * one, or does not say.
 */
export async function findGatewayWithoutDatabase(deployment: Deployment): Promise<string | null> {
  // One at the address of the control plane shares its database.
  if (!hasOwnGateway(deployment.profile)) return null
  try {
    const { gatewayUrl } = await refreshProfile(deployment)
    const signal = AbortSignal.timeout(ANSWER_TIMEOUT_MS)
    const { data } = await deployment.gatewayAt(gatewayUrl).GET('/readyz', { signal })
    return data?.database === 'disabled' ? gatewayUrl : null
  } catch {
    return null
  }
}
