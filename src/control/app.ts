import { healthRoutes } from '../http/health.ts'
import { deviceRoutes } from './device-page/routes.ts'
import { deviceLoginRoutes } from './device-login/routes.ts'
import { devicesRoutes } from './devices/routes.ts'
import { invitationRoutes } from './invitations/routes.ts'
import { keyRoutes } from './keys/routes.ts'
import { magicLinkRoutes } from './magic-link/routes.ts'
import { oauthRoutes } from './oauth/routes.ts'
import { pageRoutes } from './pages/routes.ts'
import { passkeyRoutes } from './passkeys/routes.ts'
import { teamRoutes } from './teams/routes.ts'
import { tokenRoutes } from './tokens/routes.ts'

type Needs = Parameters<typeof deviceLoginRoutes>[0] &
  Parameters<typeof magicLinkRoutes>[0] &
  Parameters<typeof tokenRoutes>[0] &
  Parameters<typeof deviceRoutes>[0] &
  Parameters<typeof devicesRoutes>[0] &
  Parameters<typeof passkeyRoutes>[0] &
  Parameters<typeof invitationRoutes>[0] &
  Parameters<typeof teamRoutes>[0] &
  Parameters<typeof oauthRoutes>[0] &
  Parameters<typeof keyRoutes>[0] &
  Parameters<typeof pageRoutes>[0] &
  Parameters<typeof healthRoutes>[0]

/** The handlers of the control plane, by operation. */
export function controlHandlers(needs: Needs) {
  return {
    ...healthRoutes(needs),
    ...deviceLoginRoutes(needs),
    ...magicLinkRoutes(needs),
    ...tokenRoutes(needs),
    ...deviceRoutes(needs),
    ...devicesRoutes(needs),
    ...passkeyRoutes(needs),
    ...invitationRoutes(needs),
    ...teamRoutes(needs),
    ...oauthRoutes(needs),
    ...keyRoutes(needs),
    ...pageRoutes(needs),
  }
}
