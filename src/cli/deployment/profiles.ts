import { randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import path from 'node:path'
import { systemClock } from '../../kernel/clock.ts'
import { readText, rewriteFile } from '../../sdk/node-files.ts'
import { withLock } from '../../sdk/node-lock.ts'
import type { StoredTokens, TokenStore } from '../../sdk/index.ts'
import { fileTokenStore } from '../../sdk/node.ts'
import { CommandError, wrongUsage } from '../failures.ts'
import { isHttpUrl, isText, readStored } from './stored-json.ts'

/** What this machine stores about a deployment besides the tokens. */
export type Profile = {
  /** The URL of the deployment, which identifies the profile. */
  readonly url: string
  readonly account: string
  readonly organization: string
  /** `@organization/name`. */
  readonly team: string
  /** The base URL for model calls. */
  readonly gatewayUrl: string
  /** The model of calls that name none; null: there is none. */
  readonly defaultModel: string | null
}

/** Tokens, with the time at which this machine got them by its own clock. */
export type DatedTokens = StoredTokens & { readonly savedAt?: string }

export type Profiles = ReturnType<typeof openProfiles>

/**
 * The profiles of this person, one for each deployment, in a folder that only they can read:
 *
 *     device-id                       identifies this machine to deployments
 *     current                         the URL of the last login
 *     deployments/NAME/profile.json   who signed in, and where the gateway is
 *     deployments/NAME/tokens.json    the tokens (mode 0600), replaced as a whole under a lock
 *     deployments/NAME/outage         why the control plane could not be reached the last time
 */
export function openProfiles(folder: string) {
  const folderOf = (url: string) => path.join(folder, 'deployments', encodeURIComponent(url))
  const profileFile = (url: string) => path.join(folderOf(url), 'profile.json')
  const currentFile = path.join(folder, 'current')
  return {
    /** The URL of the last login; null before the first one. */
    async current(): Promise<string | null> {
      const url = (await readText(currentFile))?.trim() || null
      if (url === null || isHttpUrl(url)) return url
      throw new CommandError(`${currentFile} does not contain the URL of a deployment. Run: svc login URL`)
    },
    async setCurrent(url: string): Promise<void> {
      await rewriteFile(currentFile, `${url}\n`)
    },
    async find(url: string): Promise<Profile | null> {
      return readStored<Profile>(profileFile(url), CHECKS, `Sign in again: svc login ${url}`)
    },
    async save(profile: Profile): Promise<void> {
      await rewriteFile(profileFile(profile.url), `${JSON.stringify(profile, null, 2)}\n`)
    },
    /** The URLs of all profiles in their order. A profile that is damaged is one of them. */
    async list(): Promise<string[]> {
      const names = await readdir(path.join(folder, 'deployments')).catch(() => [])
      // Others may put files there, as macOS does with each folder that somebody has looked at.
      return names
        .sort()
        .flatMap(toUrls)
        .filter((url) => existsSync(profileFile(url)))
    },
    /** The tokens of a deployment. Saving new ones adds the time. */
    tokens: (url: string): TokenStore => dated(fileTokenStore(path.join(folderOf(url), 'tokens.json'))),
    outageFile: (url: string) => path.join(folderOf(url), 'outage'),
    /** The id of this machine, created at the first use, under a lock: two logins may begin at the same time. */
    deviceId(): Promise<string> {
      const file = path.join(folder, 'device-id')
      return withLock(file, async () => {
        const stored = (await readText(file))?.trim()
        // A damaged file counts as none, because the service refuses such an id.
        if (stored && DEVICE_ID.test(stored)) return stored
        const made = `cli-${randomUUID()}`
        await rewriteFile(file, `${made}\n`)
        return made
      })
    },
  }
}

function dated(store: TokenStore): TokenStore {
  return {
    ...store,
    save(tokens) {
      if (tokens === null) return store.save(null)
      // Tokens that are saved again keep their time.
      const saved: DatedTokens = { savedAt: systemClock.now().toISOString(), ...tokens }
      return store.save(saved)
    },
  }
}

/** What the service takes as the id of a device. */
const DEVICE_ID = /^[\w.:-]{1,128}$/

const LOOPBACK = /^(localhost|127(\.\d+){3}|\[::1\])$/

/**
 * The URL of a deployment in its normal form, which identifies the profile: with a scheme, without a slash at the end,
 * `localhost` for 127.0.0.1. Throws a wrong usage error when the text is not a URL, or is one with a path, which no
 * deployment has (`SVC_BASE_URL`).
 */
export function toDeploymentUrl(text: string): string {
  const hasScheme = /^[a-z][a-z0-9+.-]*:\/\//i.test(text)
  const scheme = LOOPBACK.test(parseUrl(`http://${text}`)?.hostname ?? '') ? 'http' : 'https'
  const url = parseUrl(hasScheme ? text : `${scheme}://${text}`)
  const isEmail = !hasScheme && /^[^:/]+@/.test(text)
  if (!url || isEmail || !/^https?:$/.test(url.protocol)) {
    const option = isEmail ? ', and the email address with --email' : ''
    throw wrongUsage(`"${text}" is not the URL of a deployment. Give one such as https://svc.example.com${option}`)
  }
  if (url.username || url.password)
    throw wrongUsage('The URL of a deployment must not contain a user name or a password.')
  // Not for other loopback addresses: `localhost` need not lead there.
  const host = url.hostname === '127.0.0.1' ? url.host.replace(url.hostname, 'localhost') : url.host
  const deployment = `${url.protocol}//${host}`
  // The URL of a page or of a gateway's route has one.
  if (!/^\/*$/.test(url.pathname))
    throw wrongUsage(`The URL of a deployment has no path: leave out ${url.pathname}, and give ${deployment}`)
  return deployment
}

/** Node.js 20 does not have `URL.parse`. */
function parseUrl(text: string): URL | null {
  return URL.canParse(text) ? new URL(text) : null
}

const CHECKS = {
  url: isHttpUrl,
  account: isText,
  organization: isText,
  team: isText,
  gatewayUrl: isHttpUrl,
  defaultModel: (value: unknown) => value === null || isText(value),
}

/** The URL that the name of a folder stands for; none for other names. */
function toUrls(name: string): string[] {
  try {
    return [decodeURIComponent(name)]
  } catch {
    return []
  }
}
