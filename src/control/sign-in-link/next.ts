import type { Request } from 'express'
import { clearCookie, cookieOf, setCookie } from '../../http/cookies.ts'
import type { CookieReply } from '../../http/cookies.ts'
import { Secret } from '../../kernel/secret.ts'
import { plainUserCode, showUserCode } from '../device-login/user-code.ts'
import { PATHS } from '../pages/forms.ts'
import { toDevice } from '../pages/sign-in-page.ts'
import { SIGN_IN_LINK_SECONDS } from './rules.ts'

/** What the person came for: the code of a device, or a page of a team. */
export type Wanted = { readonly userCode?: string; readonly page?: string | undefined }

/**
 * Keeps the page that follows the sign-in in a cookie of the browser that asked for the link. If the link itself had
 * the code of a device, an attacker could ask for a link that leads its reader to the attacker's device (RFC 8628,
 * section 5.4).
 */
export function keepNext(res: CookieReply, wanted: Wanted): void {
  const next = nextOf(wanted)
  if (next) setCookie(res, 'svc_next', new Secret(next), SIGN_IN_LINK_SECONDS)
}

/** The path of the page that follows the sign-in; null for the usual one. */
export function nextOf({ userCode, page }: Wanted): string | null {
  return readNext(toCodePath(userCode)) ?? readNext(page)
}

/** The path of the page that this browser asked for, which it then forgets; null when there is none. */
export function takeNext(req: Pick<Request, 'cookies'>, res: CookieReply): string | null {
  clearCookie(res, 'svc_next')
  return readNext(cookieOf(req, 'svc_next'))
}

const TEAM_PAGE = `${PATHS.team}(/[a-z0-9][a-z0-9._-]*)*/?(\\?[\\w.~%=&@:+-]*)?`

/** Another site must not choose where a sign-in leads, so only these paths are accepted. */
const NEXT = new RegExp(`^(${TEAM_PAGE}|${PATHS.device}\\?userCode=[A-Z]{4}-[A-Z]{4})$`)

function readNext(path: string | undefined): string | null {
  return path !== undefined && NEXT.test(path) ? path : null
}

/** The path of the device page with a code; undefined for a text that is no code. */
function toCodePath(text = ''): string | undefined {
  const plain = plainUserCode(text)
  return plain.length === 8 ? toDevice(showUserCode(plain)) : undefined
}
