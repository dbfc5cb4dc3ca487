import type { TeamLimitsForm } from '../../../../generated/openapi.ts'
import type { Html } from '../../../http/page.ts'
import { readUsd } from '../../../kernel/formats/usd.ts'
import { SUBJECTS } from '../../../spending/rules.ts'
import { required } from '../../request-fields.ts'
import type { TeamLimits } from '../../spending-limits/changes.ts'
import type { LimitRefusal, WantedLimit } from '../../spending-limits/store.ts'
import type { TeamActor } from '../../team-access.ts'
import { toTeamFormOutcome } from '../form-outcome.ts'
import type { TeamFormOutcome } from '../form-outcome.ts'
import type { TeamNotice } from '../notices.ts'
import type { Viewer } from '../viewer.ts'
import type { FindLimits, LimitChoices } from './find-limits.ts'
import { limitsPage } from './limits-page.ts'

/** The limits page, and its forms for admins. */
export type LimitForms = {
  render(viewer: Viewer, outcome: TeamFormOutcome<TeamLimitsForm>): Promise<Html>
  change(admin: Viewer, form: TeamLimitsForm): Promise<TeamFormOutcome<TeamLimitsForm>>
}

type Needs = {
  readonly limits: TeamLimits
  readonly findLimits: FindLimits
  readonly findChoices: (admin: Viewer) => Promise<LimitChoices>
}

/** Makes the limits page and its forms. */
export function makeLimitForms({ limits, findLimits, findChoices }: Needs): LimitForms {
  async function apply(admin: TeamActor, form: TeamLimitsForm): Promise<TeamNotice> {
    if (form.action === 'remove') {
      const isRemoved = await limits.remove(admin, required('limitId', form.limitId))
      return isRemoved ? 'limit_removed' : 'unknown_limit'
    }
    const amountNanoUsd = readUsd(required('amount', form.amount))
    if (amountNanoUsd === null) return 'invalid_amount'
    if (form.action === 'change') {
      const changed = await limits.change(admin, required('limitId', form.limitId), amountNanoUsd)
      return changed ? 'limit_changed' : 'unknown_limit'
    }
    const whose = readWhose(required('whose', form.whose))
    if (!whose) return 'unknown_subject'
    const wanted = { ...whose, period: required('period', form.period), amountNanoUsd }
    const made = await limits.create(admin, wanted)
    return typeof made === 'string' ? REFUSALS[made] : 'limit_created'
  }

  return {
    async render(viewer, outcome) {
      const shown = await findLimits(viewer)
      const choices = viewer.role === 'admin' ? await findChoices(viewer) : null
      return limitsPage(viewer, { limits: shown, choices, ...outcome })
    },

    async change(admin, form) {
      return toTeamFormOutcome(await apply(admin, form), form)
    },
  }
}

/** Reads `team`, `members`, or a subject and its name, such as `member:ada@example.com`; null for anything else. */
function readWhose(whose: string): Pick<WantedLimit, 'subject' | 'of'> | null {
  const [, name, of] = /^(\w+)(?::(.+))?$/.exec(whose) ?? []
  const subject = SUBJECTS.find((one) => one === name)
  return subject ? { subject, of } : null
}

const REFUSALS: Readonly<Record<LimitRefusal, TeamNotice>> = {
  unknown_subject: 'unknown_subject',
  exists: 'limit_exists',
  too_many: 'too_many_limits',
}
