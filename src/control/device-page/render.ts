import type { Html } from '../../http/page.ts'
import type { RequestHead } from '../../http/request.ts'
import { callerOf, ipOf } from '../../http/request.ts'
import type { Clock } from '../../kernel/clock.ts'
import { newFormId } from '../../kernel/identifier.ts'
import type { KeyChanges, NewKey } from '../api-keys/changes.ts'
import type { ApiKeyStore } from '../api-keys/store.ts'
import type { FoundLogin } from '../device-login/rows.ts'
import type { DeviceStore } from '../devices/store.ts'
import { isFresh } from '../fresh.ts'
import type { KeyDraft } from '../pages/key-parts.ts'
import { toPendingLogin } from '../pages/pending-login.ts'
import type { PasskeyStore } from '../passkeys/store.ts'
import { nextOf } from '../sign-in-link/next.ts'
import type { SignOut } from '../tokens/sign-out.ts'
import type { DeviceNotice } from './device-notices.ts'
import { devicePage } from './device-page.ts'

/** What the page shows besides the lists of devices, passkeys and keys. */
export type PageContent = {
  readonly notice?: DeviceNotice
  /** Filled into the form, not looked up. */
  readonly userCode?: string | undefined
  /** The page of a team that the person came from, to confirm that it is them. */
  readonly page?: string | undefined
  readonly found?: FoundLogin
  /** A key that the form has made. No other page shows its secret. */
  readonly madeKey?: NewKey
  /** The form that made no key. */
  readonly keyDraft?: KeyDraft
}

/** Renders the device page of the caller. */
export type RenderDevicePage = (req: RequestHead, content: PageContent) => Promise<Html>

type Needs = {
  readonly devices: DeviceStore
  readonly passkeys: PasskeyStore
  readonly keys: ApiKeyStore
  readonly findHolder: KeyChanges['findHolder']
  readonly signOut: SignOut
  /** The relying party id of passkeys (WebAuthn): a domain. */
  readonly rpId: string
  /** Whether the service can send email. */
  readonly hasEmail: boolean
  readonly clock: Clock
}

/** Makes the renderer, which reads devices, passkeys and keys of the caller for each page. */
export function makeDevicePageRenderer(needs: Needs): RenderDevicePage {
  const { devices, passkeys, keys, findHolder, signOut, rpId, hasEmail, clock } = needs
  return async (req, { notice, userCode, page, found, madeKey, keyDraft }) => {
    const caller = callerOf(req)
    const { accountId, team, role } = caller
    const now = clock.now()
    const listed = await devices.list(accountId, now)
    const { email, userHandle } = await passkeys.findAccount(accountId)
    const own = await passkeys.list(accountId)
    const holder = await findHolder(caller)
    const current = await signOut.findCurrent(req)
    return devicePage({
      user: { email, team, role },
      fresh: isFresh(caller, now),
      next: nextOf({ page }),
      hasEmail,
      notice: notice ?? null,
      userCode: userCode ?? null,
      found: found ? toPendingLogin(found, ipOf(req)) : null,
      devices: listed.map((device) => ({ ...device, current: current.includes(device.sessionId) })),
      passkeys: own,
      keys: await keys.list({ accountId }, now),
      models: holder ? await keys.findModels(holder.teamId) : [],
      madeKey: madeKey ?? null,
      keyDraft: keyDraft ?? null,
      formId: newFormId(),
      accepted: {
        rpId,
        userId: Buffer.from(userHandle).toString('base64url'),
        credentialIds: own.map(({ credentialId }) => credentialId),
      },
    })
  }
}
