import { execFile } from 'node:child_process'
import type { Logger } from '../../log.ts'

/**
 * Tells systemd that the service is ready: READY=1 of sd_notify(3), for a unit with `Type=notify`. The command of
 * systemd sends it, because Node.js has no datagram sockets for local addresses.
 */
export function notifySystemd(log: Pick<Logger, 'warn'>): void {
  execFile('systemd-notify', ['--ready'], (err) => {
    if (err) log.warn({ err }, 'systemd.notify_failed')
  })
}
