import { spawn } from 'node:child_process'
import type { Environment } from '../environment.ts'

type Variables = Environment['variables']

/** Opens a page in the browser of this machine, if it has one. A failure is ignored: the URL was also printed. */
export function openBrowser(page: string, { variables, platform }: Environment): void {
  const opener = chooseOpener(page, variables, platform)
  if (!opener) return
  const [command, ...args] = opener
  const child = spawn(command, args, { stdio: 'ignore', detached: true })
  child.on('error', () => undefined)
  child.unref()
}

type Opener = readonly [command: string, ...args: string[]]

/**
 * The command that opens a page. Null on a machine without a screen, and for everything but a web page: the deployment
 * names the page, and what it names must not start a program.
 */
export function chooseOpener(page: string, variables: Variables, platform: NodeJS.Platform): Opener | null {
  const hasScreen = platform !== 'linux' || variables['DISPLAY'] || variables['WAYLAND_DISPLAY']
  if (!hasScreen || variables['SSH_CONNECTION'] || !URL.canParse(page)) return null
  const { protocol, href } = new URL(page)
  return protocol === 'https:' || protocol === 'http:' ? [...(OPENERS[platform] ?? ['xdg-open']), href] : null
}

const OPENERS: Partial<Record<NodeJS.Platform, Opener>> = {
  darwin: ['open'],
  // `start` of cmd.exe would read & in the URL as the end of the command.
  win32: ['rundll32', 'url.dll,FileProtocolHandler'],
}
