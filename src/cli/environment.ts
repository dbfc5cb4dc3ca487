import { homedir } from 'node:os'
import path from 'node:path'

/** The environment that the command was started in. */
export type Environment = {
  readonly home: string
  /** `$XDG_CONFIG_HOME`, or `~/.config`. */
  readonly configHome: string
  /** `svc` in that folder: holds the credentials, and records of what `svc setup` has changed. */
  readonly folder: string
  /** Every variable: passed to programs that the command starts, and read to find their settings files. */
  readonly variables: Readonly<Record<string, string | undefined>>
  /** The absolute path of this script. Agents run it to get a token. */
  readonly script: string
  /** The operating system. */
  readonly platform: NodeJS.Platform
}

/** Reads the environment. The commands of people read `process.env` nowhere else. */
export function readEnvironment(
  variables: Environment['variables'] = process.env,
  home = findHome(),
  script = path.resolve(process.argv[1] ?? ''),
): Environment {
  const given = variables['XDG_CONFIG_HOME']
  // A relative path is invalid and must be ignored (XDG Base Directory Specification).
  const configHome = given && path.isAbsolute(given) ? given : path.join(home, '.config')
  return { home, configHome, folder: path.join(configHome, 'svc'), variables, script, platform: process.platform }
}

/**
 * The variable with the proxy that Node.js uses for a URL, unless `NO_PROXY` names the host; null: it uses none. The
 * proxy for http is used for https too where that has none.
 */
export function findProxyVariable({ protocol }: URL, variables: Environment['variables'] = process.env): string | null {
  if (variables['NODE_USE_ENV_PROXY'] !== '1') return null
  const ofHttps = protocol === 'https:' ? ['https_proxy', 'HTTPS_PROXY'] : []
  return [...ofHttps, 'http_proxy', 'HTTP_PROXY'].find((name) => variables[name]) ?? null
}

/** Says that a proxy is set, but that Node.js does not use it; null when that is not so. */
export function explainUnusedProxy(variables: Environment['variables'] = process.env): string | null {
  const name = ['HTTPS_PROXY', 'https_proxy', 'HTTP_PROXY', 'http_proxy'].find((each) => variables[each])
  // Node.js takes no other value for a yes.
  if (name === undefined || variables['NODE_USE_ENV_PROXY'] === '1') return null
  return `${name} is set, but svc does not use it. Set NODE_USE_ENV_PROXY=1 (Node.js 22.21 or newer) to use it.`
}

/** The root for a user without an entry in the list of users and without `HOME`, as in a container. */
function findHome(): string {
  try {
    return homedir()
  } catch {
    return path.parse(process.execPath).root
  }
}
