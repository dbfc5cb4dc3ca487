import { existsSync, realpathSync } from 'node:fs'

/** The link that fnm makes for each shell to the Node.js version that it uses, and what follows it in a path. */
const LINK_OF_SHELL = /^(.*[\\/]fnm_multishells[\\/][^\\/]+)(.*)$/

/**
 * The path of a file of Node.js or of npm that stays valid, for settings that agents keep. The path that fnm gives has
 * a link that exists only as long as the shell. The one that Homebrew gives has the folder of a version, which an
 * upgrade deletes; its link to the newest version stays.
 */
export function lastingPath(file: string): string {
  const [, link = '', rest = ''] = LINK_OF_SHELL.exec(file) ?? []
  if (existsSync(link)) return realpathSync(link) + rest
  const newest = file.replace(/\/Cellar\/([^/]+)\/[^/]+\//, '/opt/$1/')
  return existsSync(newest) ? newest : file
}
