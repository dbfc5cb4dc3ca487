import { randomUUID } from 'node:crypto'
import { ApiError } from '../../http/errors.ts'
import type { Handlers } from '../../http/operation.ts'
import { ipOf, userAgentOf } from '../../http/request.ts'
import { Secret } from '../../kernel/secret.ts'
import type { PollLogin } from '../device-login/poll.ts'
import type { StartLogin } from '../device-login/start.ts'
import { chooseDeviceName, readUserAgentName } from '../devices/device-name.ts'
import { PATHS } from '../pages/forms.ts'
import { toDevice } from '../pages/sign-in-page.ts'
import { required } from '../request-fields.ts'
import type { IssueTokens } from '../tokens/issue.ts'
import { refreshingClientOf } from '../tokens/refresh.ts'
import type { RefreshingClient, RefreshSession } from '../tokens/refresh.ts'
import type { SignOut } from '../tokens/sign-out.ts'
import { DEVICE_GRANT, readClientId, REFRESH_GRANT, toMetadata } from './rules.ts'

type Needs = {
  readonly startLogin: StartLogin
  readonly pollLogin: PollLogin
  readonly refreshSession: RefreshSession
  readonly issueTokens: IssueTokens
  readonly signOut: SignOut
  readonly pollIntervalSeconds: number
  readonly loginSeconds: number
  readonly accessTokenSeconds: number
  /** The control plane's public address: the issuer. */
  readonly baseUrl: string
  readonly gatewayUrl: string
}

/** The operations that answer with the metadata. */
export type MetadataOperation = 'getAuthorizationServer' | 'getOpenidConfiguration' | 'getVendorbAuthorizationServer'
type Operations = MetadataOperation | 'authorizeDevice' | 'issueOAuthTokens' | 'revokeOAuthToken'

/** The device login and the refresh in the form of the OAuth standards. */
export function makeOAuthHandlers(needs: Needs): Handlers<Operations> {
  const { startLogin, pollLogin, refreshSession, issueTokens, signOut, baseUrl, gatewayUrl } = needs
  const gatewayHost = new URL(gatewayUrl).host
  const sendMetadata: Handlers<MetadataOperation>[MetadataOperation] = async (req, res) => {
    res.status(200).json(toMetadata(baseUrl, req.host === gatewayHost ? gatewayUrl : baseUrl))
  }

  async function findSession(
    form: { grant_type: string; device_code?: string; refresh_token?: string },
    client: RefreshingClient,
  ) {
    if (form.grant_type === DEVICE_GRANT)
      return pollLogin(new Secret(required('device_code', form.device_code || undefined)), {
        ...client,
        isBrowser: false,
      })
    if (form.grant_type === REFRESH_GRANT)
      return refreshSession(new Secret(required('refresh_token', form.refresh_token || undefined)), null, client)
    throw new ApiError('invalid_request', {
      message: `This grant type is not supported. Use ${DEVICE_GRANT} or ${REFRESH_GRANT}.`,
    })
  }

  return {
    getAuthorizationServer: sendMetadata,
    getOpenidConfiguration: sendMetadata,
    getVendorbAuthorizationServer: sendMetadata,

    async authorizeDevice(req, res) {
      const { login_hint: hint } = req.body
      const clientId = readClientId(req.body.client_id)
      const login = await startLogin({
        // An empty parameter counts as omitted (RFC 6749, section 3.2).
        email: hint || null,
        team: undefined,
        // The standard has no device id, so each login is a device of its own.
        deviceId: `oauth-${randomUUID()}`,
        deviceName: chooseDeviceName([clientId, readUserAgentName(userAgentOf(req))]),
        clientId,
        startIp: ipOf(req),
        startUserAgent: userAgentOf(req),
      })
      res.status(200).json({
        device_code: login.deviceCode.reveal(),
        user_code: login.userCode,
        verification_uri: `${baseUrl}${PATHS.device}`,
        verification_uri_complete: `${baseUrl}${toDevice(login.userCode)}`,
        expires_in: needs.loginSeconds,
        interval: needs.pollIntervalSeconds,
      })
    },

    async issueOAuthTokens(req, res) {
      const clientId = readClientId(req.body.client_id)
      const session = await findSession(req.body, refreshingClientOf(req, clientId))
      const tokens = await issueTokens(session)
      // Required by RFC 6749, section 5.1.
      res.set('Pragma', 'no-cache')
      res.status(200).json({
        access_token: tokens.accessToken.reveal(),
        token_type: 'Bearer',
        expires_in: needs.accessTokenSeconds,
        refresh_token: tokens.refreshToken.reveal(),
      })
    },

    async revokeOAuthToken(req, res) {
      await signOut.byToken(new Secret(req.body.token), ipOf(req))
      res.status(200).json({ ok: true })
    },
  }
}
