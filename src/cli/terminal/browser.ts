import { spawn } from 'node:child_process'
import type { Environment } from '../environment.ts'

/**
 * Opens a page in the person's browser where there is one; a failure is no problem, because the address was printed.
 */
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
  // `start` of cmd.exe would read & in the address as the end of the command.
  win32: ['rundll32', 'url.dll,FileProtocolHandler'],
}
