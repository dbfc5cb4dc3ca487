import type { TeamKeysForm } from '../../../../generated/openapi.ts'
import { html } from '../../../http/page.ts'
import type { Html, Interpolation } from '../../../http/page.ts'
import type { NewKey } from '../../api-keys/changes.ts'
import type { ServiceAccountKey } from '../../api-keys/store.ts'
import { actionButton } from '../../pages/buttons.ts'
import { PATHS } from '../../pages/forms.ts'
import { AS_TYPED, inputField } from '../../pages/input-field.ts'
import { createKeyForm, keyRows, newKeyPart } from '../../pages/key-parts.ts'
import { confirmFirst, fold, time } from '../../pages/parts.ts'
import type { ListedServiceAccount } from '../../service-accounts/store.ts'
import type { TeamFormOutcome } from '../form-outcome.ts'
import { teamPage } from '../frame.ts'
import type { FramedViewer } from '../frame.ts'
import { mistakeOf, noticeOf } from '../notices.ts'

export type TeamKeysPage = TeamFormOutcome<TeamKeysForm> & {
  readonly accounts: readonly ListedServiceAccount[]
  readonly keys: readonly ServiceAccountKey[]
  /** The models of the team, which a new key can be for. */
  readonly models: readonly string[]
  /** Whether the sign-in is fresh, which making a key needs. */
  readonly fresh: boolean
  /** A new id for the forms that make a key. */
  readonly formId: string
  /** The key that the form has made; only this page shows its secret. */
  readonly madeKey: NewKey | null
}

/** The service accounts of a team and their keys, for its admins. */
export function teamKeysPage(viewer: FramedViewer, data: TeamKeysPage): Html {
  const path = `${viewer.path}/keys`
  const { accounts, fresh, notice, madeKey, draft } = data
  return teamPage(
    viewer,
    'keys',
    html`${noticeOf(notice)} ${madeKey && newKeyPart(madeKey)}
      <section class="part" aria-labelledby="new-account">
        <h2 id="new-account">Create a service account</h2>
        <p class="about">
          For a program that belongs to no person, such as a nightly job. Its keys stay when people leave the team. Your
          own keys are on <a href="${PATHS.device}#keys">the page of your devices</a>.
          ${!fresh && html`To create or rotate keys, ${confirmFirst(path)}.`}
        </p>
        <form method="post" action="${path}" class="fields">
          ${inputField({
            id: 'account',
            name: 'account',
            label: 'Name',
            hint: 'small letters, digits, . _ -',
            value: draft?.action === 'create-account' ? draft.account : '',
            attributes: html`required maxlength="64" pattern="[a-z0-9][a-z0-9._\\-]{0,63}" title="${ACCOUNT_NAME_RULE}"
            placeholder="nightly-review" ${AS_TYPED}`,
            mistake: mistakeOf(notice, 'invalid_account', 'account_exists'),
          })}
          ${actionButton('create-account', 'Create the account', 'primary')}
        </form>
      </section>
      ${accounts.length === 0 && html`<p class="empty">There is no service account yet.</p>`}
      ${accounts.map((account) => accountPart(account, path, data))}`,
  )
}

const ACCOUNT_NAME_RULE = 'Small letters, digits, dots, underscores and hyphens, the first one a letter or a digit'

function accountPart(account: ListedServiceAccount, path: string, data: TeamKeysPage): Html {
  const { keys, models, fresh, formId, draft, notice } = data
  const { id, name } = account
  const given = draft?.action === 'create-key' && draft.accountId === id ? draft : null
  const own = keys.filter(({ serviceAccountId }) => serviceAccountId === id)
  const forms = { path, fresh, formId, fields: { accountId: id }, idPrefix: `${id}-` }
  return html`<section class="part" aria-labelledby="account-${id}">
    <h2 id="account-${id}"><span class="name">service:${name}</span></h2>
    <p class="about">${factsOf(account)}</p>
    ${own.length === 0 ? html`<p class="empty">It has no key that works.</p>` : keyRows(own, forms)}
    ${(fresh || given) && createKeyForm(models, forms, { draft: given, notice })}
    <div class="foot">
      ${fold(
        'Delete',
        `the service account ${name}`,
        html`<form method="post" action="${path}">
          <input type="hidden" name="accountId" value="${id}" />
          <p>Its keys stop working within seconds. This cannot be undone.</p>
          ${actionButton('delete-account', 'Delete the account and its keys', 'danger')}
        </form>`,
      )}
    </div>
  </section>`
}

function factsOf({ createdAt, createdBy, lastUsedAt }: ListedServiceAccount): Interpolation {
  return html`Created ${time(createdAt)} by <span class="name">${createdBy}</span> ·
    ${lastUsedAt ? html`last used ${time(lastUsedAt)}` : 'not used yet'}`
}
