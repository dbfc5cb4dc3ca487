import { ApiError } from '../../http/errors.ts'
import { hasCurrentCopy } from '../../http/etag.ts'
import type { Handlers } from '../../http/operation.ts'
import { networkKey } from '../../http/rate-limit.ts'
import type { RateLimit } from '../../http/rate-limit.ts'
import { callerOf, ipOf } from '../../http/request.ts'
import type { FindTeam } from '../models/rules.ts'
import { toManagedSettings } from './claude.ts'
import { toOpencodeDiscovery } from './opencode.ts'
import type { Addresses } from './opencode.ts'

type Needs = {
  readonly findTeam: FindTeam
  readonly addresses: Addresses
  /** The requests of one network to the operations that take no credential. */
  readonly limit: RateLimit
}

type Settings = 'getManagedSettings' | 'getVendorbManagedSettings'
type Telemetry =
  'acceptMetrics' | 'acceptLogs' | 'acceptTraces' | 'acceptVendorbMetrics' | 'acceptVendorbLogs' | 'acceptVendorbTraces'

/** What coding agents ask for that sign in to the gateway by themselves. */
export function makeClientHandlers({
  findTeam,
  addresses,
  limit,
}: Needs): Handlers<Settings | Telemetry | 'getOpencodeDiscovery'> {
  const sendSettings: Handlers<Settings>[Settings] = async (req, res) => {
    const team = await findTeam(callerOf(req))
    if (!team) throw new ApiError('unauthorized', { message: 'Your team no longer exists. Sign in to another one.' })
    const document = toManagedSettings(team)
    const etag = `"${document.checksum}"`
    res.set({ ETag: etag, 'Cache-Control': 'private, no-cache' })
    if (hasCurrentCopy(req, etag)) {
      res.statusCode = 304
      return void res.end()
    }
    res.status(200).json(document)
  }

  /** The body stays unread: Node drops what arrives of it after the answer. */
  const discard: Handlers<Telemetry>[Telemetry] = async (req, res) => {
    await limit.take(networkKey(ipOf(req)))
    res.status(200).json({})
  }

  return {
    getManagedSettings: sendSettings,
    getVendorbManagedSettings: sendSettings,
    acceptMetrics: discard,
    acceptLogs: discard,
    acceptTraces: discard,
    acceptVendorbMetrics: discard,
    acceptVendorbLogs: discard,
    acceptVendorbTraces: discard,

    async getOpencodeDiscovery(req, res) {
      await limit.take(networkKey(ipOf(req)))
      const team = req.caller ? await findTeam(req.caller) : null
      res.status(200).json(toOpencodeDiscovery(addresses, team))
    },
  }
}
