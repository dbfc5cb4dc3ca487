import { homedir } from 'node:os'
import path from 'node:path'

/** What the command reads of the environment it was started in. */
export type Environment = {
  readonly home: string
  /** `$XDG_CONFIG_HOME`, or `~/.config`. */
  readonly configHome: string
  /** `$XDG_CONFIG_HOME/svc`: the credentials and what `svc setup` has changed. */
  readonly folder: string
  /** Every variable, for programs that the command starts and for the places of their settings. */
  readonly variables: Readonly<Record<string, string | undefined>>
  /** The absolute path of the script that runs, which agents start for a token. */
  readonly script: string
}

/** Reads the environment. The only reader of `process.env` in the people's commands. */
export function readEnvironment(
  variables: Environment['variables'] = process.env,
  home = homedir(),
  script = path.resolve(process.argv[1] ?? ''),
): Environment {
  const given = variables['XDG_CONFIG_HOME']
  // A relative path is invalid and must be ignored (XDG Base Directory Specification).
  const configHome = given && path.isAbsolute(given) ? given : path.join(home, '.config')
  return { home, configHome, folder: path.join(configHome, 'svc'), variables, script }
}
