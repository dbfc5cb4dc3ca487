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

/** The environment variables of this process. The commands of people read `process.env` nowhere else. */
export const VARIABLES: Environment['variables'] = process.env

/** Reads the environment. */
export function readEnvironment(
  variables: Environment['variables'] = VARIABLES,
  home = findHome(),
  script = path.resolve(process.argv[1] ?? ''),
): Environment {
  const given = variables['XDG_CONFIG_HOME']
  // A relative path is invalid and must be ignored (XDG Base Directory Specification).
  const configHome = given && path.isAbsolute(given) ? given : path.join(home, '.config')
  return { home, configHome, folder: path.join(configHome, 'svc'), variables, script, platform: process.platform }
}

/** The root for a user without an entry in the list of users and without `HOME`, as in a container. */
function findHome(): string {
  try {
    return homedir()
  } catch {
    return path.parse(process.execPath).root
  }
}
