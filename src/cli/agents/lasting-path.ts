import { existsSync, realpathSync } from 'node:fs'

/** The link that fnm makes for each shell to the Node.js version that it uses, and what follows it in a path. */
const LINK_OF_SHELL = /^(.*[\\/]fnm_multishells[\\/][^\\/]+)(.*)$/

/**
 * The path by which a file of Node.js or of npm can still be found after its version manager has done something else.
 * fnm reaches it through a link that goes with the shell or the reboot. Homebrew has each version in a folder of its
 * own, which an upgrade deletes; its link to the newest one stays.
 */
export function lastingPath(file: string): string {
  const [, link = '', rest = ''] = LINK_OF_SHELL.exec(file) ?? []
  if (existsSync(link)) return realpathSync(link) + rest
  const newest = file.replace(/\/Cellar\/([^/]+)\/[^/]+\//, '/opt/$1/')
  return existsSync(newest) ? newest : file
}
