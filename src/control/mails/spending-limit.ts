import { writeUsd } from '../../kernel/formats/usd.ts'
import { describeLimit, writeReset } from '../../spending/rules.ts'
import type { CountedLimit } from '../../spending/rules.ts'
import { pathOfTeam } from '../pages/forms.ts'
import { composeMail, quoteUnlinked, unlink } from './compose.ts'
import type { ComposedMail } from './compose.ts'

export type SpendingReached = {
  readonly limit: CountedLimit
  /** The share that was reached. */
  readonly percent: 80 | 100
  /** In 10^-9 USD. */
  readonly spentNanoUsd: number
  /** The address of the member, for a limit of each member; null for all others. */
  readonly member: string | null
  /** The public address of the deployment. */
  readonly baseUrl: string
}

/** Tells an admin that a spending limit is nearly or wholly used up. */
export function spendingReachedMail({ limit, percent, spentNanoUsd, member, baseUrl }: SpendingReached): ComposedMail {
  const title = percent === 100 ? 'A spending limit is used up' : `A spending limit has reached ${percent} %`
  const who = member === null ? [] : [{ label: 'Member', value: quoteUnlinked(member) }]
  return composeMail({ title, subject: `${title}: ${limit.team}` }, [
    `This is about the ${describeLimit({ ...limit, subjectName: nameIn(limit) })}.`,
    {
      kind: 'facts',
      facts: [
        ...who,
        { label: 'Spent', value: `${writeUsd(spentNanoUsd)} USD` },
        { label: 'Limit', value: `${writeUsd(limit.amountNanoUsd)} USD a ${limit.period}` },
        { label: 'Resets', value: writeReset(limit) },
      ],
    },
    percent === 100 ? WHEN_USED_UP : WHEN_NEAR,
    { kind: 'link', label: 'Limits of the team', address: `${baseUrl}${pathOfTeam(limit.team)}/limits` },
  ])
}

function nameIn({ subjectName }: CountedLimit): string | null {
  return subjectName === null ? null : unlink(subjectName)
}

const WHEN_USED_UP = 'Calls of models with a price are refused until the limit resets. To allow more, raise the limit.'
const WHEN_NEAR = 'When it is used up, calls of models with a price are refused until it resets.'
