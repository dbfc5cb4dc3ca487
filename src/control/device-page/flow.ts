import type { Database } from '../../database/client.ts'
import type { FindEmail } from '../../directory/memberships.ts'
import type { Clock } from '../../kernel/clock.ts'
import type { Logger } from '../../log.ts'
import type { KeyChanges } from '../api-keys/changes.ts'
import type { ApiKeyStore } from '../api-keys/store.ts'
import type { DeviceChanges } from '../devices/changes.ts'
import { makeDeviceStore } from '../devices/store.ts'
import type { PasskeyChanges } from '../passkeys/changes.ts'
import { makePasskeyStore } from '../passkeys/store.ts'
import type { SignInLinks } from '../sign-in-link/request.ts'
import type { SignOut } from '../tokens/sign-out.ts'
import { makeUserCodes } from './codes.ts'
import type { CodeLimits } from './codes.ts'
import { makeAnswerDeviceForm } from './forms.ts'
import { makeOwnKeyForms } from './key-forms.ts'
import { makeDevicePageRenderer } from './render.ts'
import { makeDevicePageHandlers } from './routes.ts'
import { makeUserCodeStore } from './store.ts'

type Needs = {
  readonly database: Database
  readonly findEmail: FindEmail
  readonly passkeyChanges: PasskeyChanges
  readonly keys: ApiKeyStore
  readonly keyChanges: KeyChanges
  readonly signInLinks: SignInLinks
  readonly deviceChanges: DeviceChanges
  readonly signOut: SignOut
  readonly limits: CodeLimits
  /** The relying party id of passkeys (WebAuthn): a domain. */
  readonly rpId: string
  readonly clock: Clock
  readonly log: Logger
}

/** `/device`: the page of a signed-in person, and the same decisions for programs. */
export function makeDevicePageFlow(needs: Needs) {
  const { database, findEmail, passkeyChanges, keys, keyChanges, signInLinks, deviceChanges, signOut } = needs
  const { limits, rpId, clock, log } = needs
  const devices = makeDeviceStore(database)
  const codes = makeUserCodes({ logins: makeUserCodeStore(database), limits, clock, log })
  const passkeys = makePasskeyStore(database)
  const { hasEmail } = signInLinks
  const renderDevicePage = makeDevicePageRenderer({
    devices,
    passkeys,
    keys,
    findHolder: keyChanges.findHolder,
    signOut,
    rpId,
    hasEmail,
    clock,
  })
  const answerDeviceForm = makeAnswerDeviceForm({
    codes,
    deviceChanges,
    passkeyChanges,
    keyForms: makeOwnKeyForms({ changes: keyChanges }),
    signInLinks,
    findEmail,
    signOut,
    renderDevicePage,
  })
  return { handlers: makeDevicePageHandlers({ codes, answerDeviceForm, renderDevicePage, findEmail }) }
}
