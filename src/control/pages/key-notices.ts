import { MAX_KEYS } from '../api-keys/rules.ts'

/** What a page says after a form for API keys was sent, and the status of that page. */
export const KEY_NOTICES = {
  key_rotated: { status: 200, text: 'The key is rotated. Change your programs to the new one below.' },
  key_revoked: { status: 200, text: 'The key is revoked. It stops working within seconds.' },
  unknown_key: { status: 404, text: 'There is no such key any more. The list below is up to date.' },
  unknown_model: { status: 400, text: 'The team does not have this model any more. No key was created.' },
  key_form_sent_before: {
    status: 409,
    text:
      'This form was sent before, and made its key then. A key is shown only once: if you did not copy it, revoke it ' +
      'and create another.',
  },
  key_rotated_before: { status: 409, text: 'This key was rotated before. Rotate the key that replaced it.' },
  too_many_keys: { status: 409, text: `${MAX_KEYS} keys work already, which is the limit. Revoke one first.` },
  invalid_name: { status: 400, text: 'A name has 1 to 64 visible characters. Nothing was changed.' },
} as const

/** The notice for each reason why a key was not made, rotated or revoked. */
export const KEY_REFUSALS = {
  not_found: 'unknown_key',
  reauthenticate: 'reauthenticate',
  invalid_name: 'invalid_name',
  sent_before: 'key_form_sent_before',
  rotated_before: 'key_rotated_before',
  too_many: 'too_many_keys',
} as const
