/** How the pages of a team show one spending limit. */
import { html } from '../../../http/page.ts'
import type { Html, Interpolation } from '../../../http/page.ts'
import type { Role } from '../../../kernel/caller.ts'
import { writeDollars } from '../../../kernel/formats/usd.ts'
import type { LimitAnswer } from '../../../spending/answers.ts'
import { writeReset } from '../../../spending/rules.ts'
import { quoted } from '../../pages/parts.ts'
import { toPercent } from '../format.ts'

/** Whose limit it is, a bar of what is used, the same in words: `$12.40 of $50.00 this month`, and when it resets. */
export function limitLines(limit: LimitAnswer, role: Role): Html {
  const { remainingNanoUsd, spentNanoUsd, amountNanoUsd } = limit
  const spent = `${writeDollars(spentNanoUsd)} of ${writeDollars(amountNanoUsd)} ${CURRENT[limit.period]}`
  // An admin sees the highest sum of all members, and a member their own.
  const by = limit.subject === 'members' && role === 'admin' && spentNanoUsd > 0 && ' by the member who spent the most'
  return html`<p class="row-name">
      ${OWNERS[limit.subject](limit)} ${remainingNanoUsd === 0 && html`<span class="badge bad">Used up</span>`}
    </p>
    ${meter(limit)}
    <p>${spent}${by}</p>
    <p class="row-facts">Resets ${resetOf(limit)}</p>`
}

function resetOf({ timeZone, resetsAt }: LimitAnswer): Html {
  const text = writeReset({ timeZone, span: { resetsAt: new Date(resetsAt) } })
  return html`<time datetime="${resetsAt}">${text}</time>`
}

/** Names a limit for screen readers: `the limit of ada@example.com per month`. */
export function nameOfLimit({ subject, subjectName, period }: LimitAnswer): string {
  return `the limit of ${subjectName ?? (subject === 'team' ? 'the whole team' : 'each member')} per ${period}`
}

const CURRENT: Readonly<Record<LimitAnswer['period'], string>> = {
  day: 'today',
  week: 'this week',
  month: 'this month',
}

const OWNERS: Readonly<Record<LimitAnswer['subject'], (limit: LimitAnswer) => Interpolation>> = {
  team: () => 'The whole team',
  members: () => 'Each member',
  member: ({ subjectName }) => html`<span class="name">${subjectName}</span>`,
  key: ({ subjectName }) => html`<span>API key ${quoted(subjectName ?? '')}</span>`,
  service_account: ({ subjectName }) => html`<span class="name">service:${subjectName}</span>`,
}

const MIN_VISIBLE_PERCENT = 1.5

function meter({ spentNanoUsd, amountNanoUsd, remainingNanoUsd }: LimitAnswer): Html {
  const percent = Math.min(100, (spentNanoUsd / amountNanoUsd) * 100)
  const width = percent > 0 ? Math.max(percent, MIN_VISIBLE_PERCENT) : 0
  return html`<svg
    class="meter ${remainingNanoUsd === 0 && 'full'}"
    viewBox="0 0 100 1"
    preserveAspectRatio="none"
    role="img"
    aria-label="${toPercent(spentNanoUsd, amountNanoUsd)} used"
  >
    <rect width="${width.toFixed(1)}" height="1" />
  </svg>`
}
