/**
 * What the pages and the routes behind them must agree on: addresses, and the fields of every form.
 * All forms are `application/x-www-form-urlencoded` POSTs and work without JavaScript.
 *
 * POST `PATHS.consume` (confirmation page, and waiting page of a signed-in person)
 *   token      the token of the page
 *   action     `approve`, also when it is missing; or `deny`
 *   userCode   approval mode `code` only, with `approve`: what the person typed
 *
 * POST `PATHS.device`, by `action`
 *   find                  userCode                   shows the pending login; changes nothing
 *   approve, deny         userCode
 *   revoke-device         sessionId
 *   rename-passkey        passkeyId, name
 *   delete-passkey        passkeyId
 *   sign-out              here only
 *   sign-out-others       everywhere but here
 *   sign-out-everywhere
 *
 * GET `PATHS.device` takes `?userCode=` and only fills it in: looking it up is a POST, so that no link can use up tries.
 */
export const PATHS = {
  consume: '/v1/auth/magic/consume',
  device: '/device',
  signIn: '/sign-in',
  stylesheet: '/assets/auth.css',
  passkeyScript: '/assets/passkeys.js',
} as const

/** The `action` of the forms that go to `PATHS.consume`. */
export const CONSUME_ACTIONS = ['approve', 'deny'] as const

/** The `action` of the forms that go to `PATHS.device`. */
export const DEVICE_ACTIONS = [
  'find',
  'approve',
  'deny',
  'revoke-device',
  'rename-passkey',
  'delete-passkey',
  'sign-out',
  'sign-out-others',
  'sign-out-everywhere',
] as const

export type ConsumeAction = (typeof CONSUME_ACTIONS)[number]
export type DeviceAction = (typeof DEVICE_ACTIONS)[number]
