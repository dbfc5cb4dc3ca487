import { withSession } from '../../sdk/fetch.ts'
import { createClient, openSession, unwrap } from '../../sdk/index.ts'
import type { Send, SvcClient } from '../../sdk/index.ts'
import { notSignedIn, sessionEnded } from '../failures.ts'
import { sendCall, sendRequest } from './http.ts'
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
  /** The gateway of the team, with the same credentials. */
  readonly gateway: SvcClient
  /** An access token that is valid for a minute at least. */
  accessToken(): Promise<string>
  /** A new access token, which is valid for its whole life. */
  newAccessToken(): Promise<string>
}

/** Opens the deployment with a URL, or else that of the last login. Throws when this machine is not signed in to it. */
export async function openDeployment(folder: string, given?: string): Promise<Deployment> {
  const profiles = openProfiles(folder)
  const url = given === undefined ? await profiles.current() : toDeploymentUrl(given)
  if (url === null) throw notSignedIn(null)
  // Typed without null, for the functions below.
  const deploymentUrl = url
  const tokens = profiles.tokens(url)
  const [profile, held] = await Promise.all([profiles.find(url), tokens.load()])
  if (profile === null || held === null) throw notSignedIn(url)
  const session = openSession({ baseUrl: url, tokens, fetch: sendRequest })
  const clientOf = (baseUrl: string, send: Send) =>
    createClient({ baseUrl, fetch: withSession(send, session), longestWaitSeconds: 5 })
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
    get gateway() {
      return clientOf(profile.gatewayUrl, sendCall)
    },
    accessToken: async () => {
      const token = await findHeld()
      return isFresh(token) ? token.accessToken : renew(token.accessToken)
    },
    newAccessToken: async () => renew((await findHeld()).accessToken),
  }

  async function findHeld(): Promise<DatedTokens> {
    const token = await tokens.load()
    if (token === null) throw notSignedIn(deploymentUrl)
    return token
  }

  /**
   * Replaces a token. When several processes ask at the same time, one refreshes under a lock, and the others find its
   * new token.
   */
  async function renew(refused: string): Promise<string> {
    const renewed = await session.renew(refused)
    if (renewed === null) throw sessionEnded(deploymentUrl)
    return renewed
  }
}

/** Updates the URL of the team's gateway in the profile, because an operator may have changed it since the login. */
export async function refreshProfile({ control, profile, profiles }: Deployment): Promise<Profile> {
  const { endpoint } = await unwrap(control.GET('/v1/teams/{team}', { params: { path: { team: profile.team } } }))
  const gatewayUrl = endpoint.replace(/\/+$/, '')
  if (gatewayUrl === profile.gatewayUrl) return profile
  const next = { ...profile, gatewayUrl }
  await profiles.save(next)
  return next
}
