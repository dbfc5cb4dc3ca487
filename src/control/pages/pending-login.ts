import type { FoundLogin } from '../device-login/rows.ts'
import { showUserCode } from '../device-login/user-code.ts'
import type { PendingLogin } from './parts.ts'

/** A login as the pages show it to a person whose browser has this IP address. */
export function toPendingLogin(login: FoundLogin, browserIp: string): PendingLogin {
  return {
    deviceName: login.deviceName,
    userCode: showUserCode(login.userCode ?? ''),
    startIp: login.startIp,
    startedAt: login.createdAt,
    expiresAt: login.expiresAt,
    sameIp: login.startIp === browserIp,
  }
}
