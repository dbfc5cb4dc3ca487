import { limitsPage } from '../../../src/control/console/limits/limits-page.ts'
import { sampleLimitsPage } from './sample-limits.ts'
import type { Words } from './sample-pages.ts'
import { sampleKeyPages } from './sample-team-pages/keys.ts'
import { sampleMemberPages } from './sample-team-pages/members.ts'
import { sampleModelPages } from './sample-team-pages/models.ts'
import { sampleUsagePages } from './sample-team-pages/usage.ts'
import { makeViewers } from './sample-team-pages/viewers.ts'
import type { Sample, Viewers } from './sample-team-pages/viewers.ts'

/** The pages of a team, filled with these texts. */
export function sampleTeamPages(words: Words): Sample[] {
  const viewers = makeViewers(words)
  return [
    ...sampleUsagePages(words, viewers),
    ...sampleLimitPages(words, viewers),
    ...sampleModelPages(words, viewers),
    ...sampleMemberPages(words, viewers),
    ...sampleKeyPages(words, viewers),
  ]
}

function sampleLimitPages(words: Words, { admin, member }: Viewers): Sample[] {
  const page = sampleLimitsPage(words)
  const nothing = { choices: null, notice: null, draft: null }
  return [
    ['team-limits', limitsPage(admin, page)],
    ['team-limits-member', limitsPage(member, { ...page, ...nothing })],
    ['team-limits-empty', limitsPage(member, { limits: [], ...nothing })],
  ]
}
