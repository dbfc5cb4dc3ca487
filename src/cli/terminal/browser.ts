import { spawn } from 'node:child_process'
import type { Environment } from '../environment.ts'

/** Opens a page in the browser of this machine, if it has one. A failure is ignored: the URL was also printed. */
export function openBrowser(url: string, { variables }: Environment): void {
  const hasScreen = process.platform !== 'linux' || variables['DISPLAY'] || variables['WAYLAND_DISPLAY']
  if (!hasScreen || variables['SSH_CONNECTION']) return
  const [command, ...args] = OPENERS[process.platform] ?? ['xdg-open']
  const child = spawn(command, [...args, url], { stdio: 'ignore', detached: true })
  child.on('error', () => undefined)
  child.unref()
}

const OPENERS: Partial<Record<NodeJS.Platform, [string, ...string[]]>> = {
  darwin: ['open'],
  // `start` of cmd.exe would read & in the URL as the end of the command.
  win32: ['rundll32', 'url.dll,FileProtocolHandler'],
}
