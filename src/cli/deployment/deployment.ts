import { withRetries, withSession } from '../../sdk/fetch.ts'
import { createClient, openSession, unwrap } from '../../sdk/index.ts'
import type { Send, SvcClient, Team, TokenStore } from '../../sdk/index.ts'
import type { Cli } from '../command-line.ts'
import { notSignedIn, sessionEnded, UnreachableError } from '../failures.ts'
import { sendCall, sendRequest } from './http.ts'
import { unlessOutage, withOutages } from './outage.ts'
import { openProfiles, toDeploymentUrl } from './profiles.ts'
import type { DatedTokens, Profile, Profiles } from './profiles.ts'
import { isFresh } from './token-age.ts'

/** A deployment that this machine is signed in to. */
export type Deployment = {
  readonly url: string
  readonly profile: Profile
  readonly profiles: Profiles
  /** The control plane, with the credentials of this machine. */
  readonly control: SvcClient
  /** The control plane, without a timeout, for streams. */
  readonly streaming: SvcClient
  /** The gateway with this URL, with the same credentials. `openGateway` opens that of the team. */
  gatewayAt(url: string): SvcClient
  /**
   * An access token that is valid for a minute at least. While the control plane cannot be reached, it can be an older
   * one: `onOld` is then called with the reason.
   */
  accessToken(onOld?: (reason: string) => void): Promise<string>
  /** A new access token, which is valid for its whole life. */
  newAccessToken(): Promise<string>
  /** An access token other than the one that the gateway has rejected. */
  renewAccessToken(rejected: string): Promise<string>
}

/** The longest `Retry-After` that a command waits for. */
export const LONGEST_WAIT_SECONDS = 5

/** Sends a refresh once more after 429 and 503, as the client of the SDK does. */
const sendRefresh = withRetries(sendRequest, { retries: 1, longestWaitSeconds: LONGEST_WAIT_SECONDS })

/**
 * Opens the deployment with a URL, or else that of the last login. Throws when this machine is not signed in to it.
 * A spinner is shown during requests of its clients.
 */
export async function openDeployment({ environment, output }: Cli, given?: string): Promise<Deployment> {
  const profiles = openProfiles(environment.folder)
  const url = await findUrl(profiles, given)
  const tokens = profiles.tokens(url)
  const [profile, held] = await Promise.all([profiles.find(url), tokens.load()])
  if (profile === null || held === null) throw notSignedIn(url)
  const isUsableOffline = hasOwnGateway(profile)
  const sessionOf = (store: TokenStore) => openSession({ baseUrl: url, tokens: store, fetch: sendRefresh })
  const session = sessionOf(tokens)
  const outageAware = sessionOf(withOutages(tokens, profiles.outageFile(url)))
  const clientOf = (baseUrl: string, send: Send) => {
    const sendSignedIn = withSession(send, { ...session, renew })
    const fetch: Send = (request) => output.busy('Asking the deployment', () => sendSignedIn(request))
    return createClient({ baseUrl, fetch, longestWaitSeconds: LONGEST_WAIT_SECONDS })
  }
  return {
    url,
    profile,
    profiles,
    // Getters, because a client loads Node's `fetch`. That takes longer than all of `svc token`.
    get control() {
      return clientOf(url, sendRequest)
    },
    get streaming() {
      return clientOf(url, sendCall)
    },
    gatewayAt: (gatewayUrl) => clientOf(gatewayUrl, sendCall),
    accessToken: async (onOld) => {
      const token = await findHeld()
      if (isFresh(token)) return token.accessToken
      return renewUnlessOffline(token.accessToken, onOld)
    },
    newAccessToken: async () => renew((await findHeld()).accessToken),
    renewAccessToken: renew,
  }

  async function findHeld(): Promise<DatedTokens> {
    const token = await tokens.load()
    if (token === null) throw notSignedIn(url)
    return token
  }

  /** Replaces a token, or returns it as it is while the team's gateway can be used without the control plane. */
  async function renewUnlessOffline(token: string, onOld?: (reason: string) => void): Promise<string> {
    if (!isUsableOffline) return renew(token)
    try {
      return await renew(token, outageAware)
    } catch (error) {
      if (!(error instanceof UnreachableError)) throw error
      onOld?.(error.message)
      return token
    }
  }

  /**
   * Replaces a token. When several processes ask at the same time, one refreshes under a lock, and the others find its
   * new token.
   */
  async function renew(refused: string, by = session): Promise<string> {
    const renewed = await by.renew(refused)
    if (renewed === null) throw sessionEnded(url)
    return renewed
  }
}

/** The given URL, or else that of the last login. Throws when there is none. */
export async function findUrl(profiles: Profiles, given: string | undefined): Promise<string> {
  const url = given === undefined ? await profiles.current() : toDeploymentUrl(given)
  if (url === null) throw notSignedIn(null)
  return url
}

/**
 * Whether the team has a gateway of its own, which can be used while the control plane cannot be reached. It may accept
 * an expired token then (`SVC_OFFLINE_GRACE_HOURS`).
 */
export function hasOwnGateway({ url, gatewayUrl }: Profile): boolean {
  return gatewayUrl !== url
}

/**
 * Updates what the profile has of the team, because it may have changed since the login. Returns the profile as it is
 * while the control plane cannot be reached and the team has a gateway of its own.
 */
export async function refreshProfile(deployment: Deployment): Promise<Profile> {
  const { url, control, profile, profiles } = deployment
  const params = { path: { team: profile.team } }
  const askTeam = () => unwrap(control.GET('/v1/teams/{team}', { params }))
  if (!hasOwnGateway(profile)) return saveTeam(deployment, await askTeam())
  try {
    return await saveTeam(deployment, await unlessOutage(profiles.outageFile(url), askTeam))
  } catch (error) {
    if (error instanceof UnreachableError) return profile
    throw error
  }
}

async function saveTeam({ profile, profiles }: Deployment, team: Team): Promise<Profile> {
  const next = { ...profile, ...toTeamFacts(team) }
  if (next.gatewayUrl !== profile.gatewayUrl || next.defaultModel !== profile.defaultModel) await profiles.save(next)
  return next
}

/** The gateway that the team has now, with the credentials of this machine. */
export async function openGateway(deployment: Deployment): Promise<SvcClient> {
  return deployment.gatewayAt((await refreshProfile(deployment)).gatewayUrl)
}

/** The models that the team may use, as the gateway lists them: an alias without `*` is an entry too. */
export async function listModels(gateway: SvcClient) {
  return (await unwrap(gateway.GET('/v1/models'))).data
}

/** What to do for a team that may use no model. */
export const NO_MODEL_ADVICE =
  'Its admins can add one (svc models add --help), and the operator can list one in the directory file.'

type Listed = Awaited<ReturnType<typeof listModels>>

/** The number of models in such a list, without aliases. */
export function countModels(listed: Listed): number {
  return listed.filter(({ metadata }) => !metadata.aliasOf).length
}

/** What a profile has of its team. */
export function toTeamFacts({ endpoint, defaultModel }: Team): Pick<Profile, 'gatewayUrl' | 'defaultModel'> {
  return { gatewayUrl: endpoint, defaultModel }
}
