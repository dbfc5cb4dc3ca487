import type { DeviceForm } from '../../../generated/openapi.ts'

/**
 * The addresses and form fields that the pages and the routes behind them share.
 * All forms are `application/x-www-form-urlencoded` POSTs and work without JavaScript.
 *
 * POST `PATHS.consume` (confirmation page, and waiting page of a signed-in person)
 *   token      the token of the page
 *   action     `approve` (the default) or `deny`
 *   userCode   in approval mode `code`, with `approve`: the code that the person typed
 *
 * POST `PATHS.signIn`
 *   email      where the link goes
 *   userCode   the code that the person came to approve; the browser keeps it in a cookie
 *   page       or the page of a team that the person came for
 *
 * POST `PATHS.signInLink`
 *   token      the token of the page
 *   email      in approval mode `code`: the address that the person typed
 *
 * POST `PATHS.signOut` has no fields. It signs this browser out, also when its session is over.
 *
 * POST `PATHS.device`, by `action`
 *   find                  userCode                   shows the pending login; changes nothing
 *   approve, deny         userCode
 *   revoke-device         sessionId
 *   rename-passkey        passkeyId, name
 *   delete-passkey        passkeyId
 *   confirm-email         page                       emails a sign-in link to the person, which leads to that page
 *   sign-out              signs this browser out, while its session is not over
 *   sign-out-others       signs out everything but this browser
 *   sign-out-everywhere
 *   disown-device         sessionId                  signs out everything but this browser, and deletes the passkeys
 *                                                    and keys that were added since that device signed in
 *   create-key            name, model, expiresInDays, formId
 *   rotate-key            keyId, expiresInDays, overlapSeconds, formId
 *   revoke-key            keyId
 *
 * GET `PATHS.device` takes `?userCode=` and only fills it in. Looking a code up is a POST, so that no link can use up a
 * person's tries. It also takes `?page=`: the page of a team that a confirmation leads back to.
 */
export const PATHS = {
  home: '/',
  team: '/teams',
  session: '/session',
  consume: '/v1/auth/magic/consume',
  device: '/device',
  signIn: '/sign-in',
  signInLink: '/sign-in/email',
  signOut: '/v1/auth/logout',
  docs: '/docs',
  favicon: '/assets/favicon.svg',
  stylesheet: '/assets/auth.css',
  passkeyScript: '/assets/passkeys.js',
  sessionScript: '/assets/session.js',
  command: '/assets/svc-cli.tgz',
} as const

/** The path of a team's first page: `/teams/acme/core` for `@acme/core`. */
export function pathOfTeam(team: string): string {
  return `${PATHS.team}/${team.slice(1)}`
}

/** The `action` of the forms that go to `PATHS.device`. */
export type DeviceAction = DeviceForm['action']
