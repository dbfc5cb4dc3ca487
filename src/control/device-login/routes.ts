import type { Handlers } from '../../http/operation.ts'
import { ipOf, userAgentOf } from '../../http/request.ts'
import { Secret } from '../../kernel/secret.ts'
import { chooseDeviceName } from '../devices/device-name.ts'
import { toTokenSet, wantsCookies } from '../tokens/answer.ts'
import type { AnswerTokens } from '../tokens/answer.ts'
import type { PollLogin } from './poll.ts'
import type { StartLogin } from './start.ts'

type Needs = {
  readonly startLogin: StartLogin
  readonly pollLogin: PollLogin
  readonly answerTokens: AnswerTokens
  readonly pollIntervalSeconds: number
}

type Operations = 'startDeviceLogin' | 'startLogin' | 'pollDeviceLogin'

/** The operations with which a device starts a login and asks for its result. */
export function makeDeviceLoginHandlers(needs: Needs): Handlers<Operations> {
  const { startLogin, pollLogin, answerTokens, pollIntervalSeconds } = needs

  const start: Handlers<'startDeviceLogin'>['startDeviceLogin'] = async (req, res) => {
    const { email, deviceId, deviceName, team } = req.body
    const login = await startLogin({
      email,
      team,
      deviceId,
      deviceName: chooseDeviceName([deviceName, deviceId]),
      clientId: null,
      startIp: ipOf(req),
      startUserAgent: userAgentOf(req),
    })
    res.status(202).json({
      deviceCode: login.deviceCode.reveal(),
      userCode: login.userCode,
      verificationUri: login.verificationUri,
      intervalSeconds: pollIntervalSeconds,
      expiresAt: login.expiresAt.toISOString(),
    })
  }

  return {
    startDeviceLogin: start,
    startLogin: start,

    async pollDeviceLogin(req, res) {
      const client = { ip: ipOf(req), clientId: null, isBrowser: wantsCookies(req) }
      const session = await pollLogin(new Secret(req.body.deviceCode), client)
      res.status(200).json(toTokenSet(session, await answerTokens(req, res, session)))
    },
  }
}
