import type { TeamKeysForm } from '../../../../generated/openapi.ts'
import type { Html } from '../../../http/page.ts'
import type { Clock } from '../../../kernel/clock.ts'
import { newFormId } from '../../../kernel/identifier.ts'
import { isName } from '../../../kernel/team-name.ts'
import type { KeyChanges, NewKey } from '../../api-keys/changes.ts'
import type { KeyForm } from '../../api-keys/key-form.ts'
import type { ApiKeyStore } from '../../api-keys/store.ts'
import { isFresh } from '../../fresh.ts'
import { KEY_REFUSALS } from '../../pages/key-notices.ts'
import { required, toNumber } from '../../request-fields.ts'
import type { ServiceAccountChanges } from '../../service-accounts/changes.ts'
import type { ServiceAccountRefusal, ServiceAccountStore } from '../../service-accounts/store.ts'
import { toTeamFormOutcome } from '../form-outcome.ts'
import type { TeamFormOutcome } from '../form-outcome.ts'
import type { TeamNotice } from '../notices.ts'
import type { Viewer } from '../viewer.ts'
import { teamKeysPage } from './keys-page.ts'

/** What a form did. `madeKey`: the key that it has made. */
type Outcome = { readonly notice: TeamNotice; readonly madeKey: NewKey | null }

type Answered = TeamFormOutcome<TeamKeysForm> & Pick<Outcome, 'madeKey'>

/** The keys page and its forms. */
export type TeamKeyForms = {
  render(admin: Viewer, answered: Answered): Promise<Html>
  /** `keyForm`: the form, where it makes a key. */
  change(admin: Viewer, form: TeamKeysForm, keyForm: KeyForm | undefined): Promise<Answered>
}

type Needs = {
  readonly keys: ApiKeyStore
  readonly changes: KeyChanges
  readonly serviceAccounts: ServiceAccountStore
  readonly accountChanges: ServiceAccountChanges
  readonly clock: Clock
}

/** Makes the keys page and its forms. */
export function makeTeamKeyForms({ keys, changes, serviceAccounts, accountChanges, clock }: Needs): TeamKeyForms {
  async function changeKey(admin: Viewer, form: TeamKeysForm, keyForm?: KeyForm): Promise<Outcome> {
    const serviceAccountId = required('accountId', form.accountId)
    const { teamId } = admin
    if (!(await serviceAccounts.exists(serviceAccountId, teamId))) return toOutcome('unknown_account')
    const scope = { serviceAccountId, teamId }
    const days = toNumber(form.expiresInDays)
    if (form.action === 'create-key') {
      const models = form.model ? [form.model] : []
      const wanted = { name: required('name', form.name), models, days, form: keyForm }
      const made = await changes.create(admin, scope, wanted)
      if (typeof made === 'string') return toOutcome(made === 'not_found' ? 'unknown_account' : KEY_REFUSALS[made])
      return 'unknown' in made ? toOutcome('unknown_model') : { notice: 'key_made', madeKey: made }
    }
    const keyId = required('keyId', form.keyId)
    if (form.action === 'revoke-key') {
      const revoked = await changes.revoke(admin, keyId, scope)
      return toOutcome(revoked === 'revoked' ? 'key_revoked' : 'unknown_key')
    }
    const wanted = { days, overlapSeconds: toNumber(form.overlapSeconds), form: keyForm }
    const made = await changes.rotate(admin, keyId, scope, wanted)
    return typeof made === 'string' ? toOutcome(KEY_REFUSALS[made]) : { notice: 'key_rotated', madeKey: made }
  }

  async function apply(admin: Viewer, form: TeamKeysForm, keyForm?: KeyForm): Promise<Outcome> {
    switch (form.action) {
      case 'create-account': {
        const name = required('account', form.account)
        if (!isName(name)) return toOutcome('invalid_account')
        const made = await accountChanges.create(admin, name)
        return toOutcome(typeof made === 'string' ? ACCOUNT_REFUSALS[made] : 'account_created')
      }
      case 'delete-account': {
        const isDeleted = await accountChanges.remove(admin, required('accountId', form.accountId))
        return toOutcome(isDeleted ? 'account_deleted' : 'unknown_account')
      }
      default:
        return changeKey(admin, form, keyForm)
    }
  }

  return {
    async render(admin, answered) {
      const now = clock.now()
      const { teamId } = admin
      return teamKeysPage(admin, {
        accounts: await serviceAccounts.list(teamId, now),
        keys: await keys.listOfServiceAccounts(teamId, now),
        models: await keys.findModels(teamId),
        fresh: isFresh(admin, now),
        formId: newFormId(),
        ...answered,
      })
    },

    async change(admin, form, keyForm) {
      const { notice, madeKey } = await apply(admin, form, keyForm)
      return { ...toTeamFormOutcome(notice, form), madeKey }
    },
  }
}

function toOutcome(notice: TeamNotice): Outcome {
  return { notice, madeKey: null }
}

const ACCOUNT_REFUSALS = {
  exists: 'account_exists',
  too_many: 'too_many_accounts',
} as const satisfies Record<ServiceAccountRefusal, TeamNotice>
