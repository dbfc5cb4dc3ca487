import type { TeamLimitsForm } from '../../../../generated/openapi.ts'
import { html } from '../../../http/page.ts'
import type { Html, Interpolation } from '../../../http/page.ts'
import { toCount } from '../../../kernel/formats/number-format.ts'
import { writeExactUsd } from '../../../kernel/formats/usd.ts'
import type { LimitAnswer } from '../../../spending/answers.ts'
import { PERIODS } from '../../../spending/periods.ts'
import { actionButton } from '../../pages/buttons.ts'
import { choiceField } from '../../pages/choice-field.ts'
import type { Choice, ChoiceGroup } from '../../pages/choice-field.ts'
import { inputField } from '../../pages/input-field.ts'
import { countOf, fold } from '../../pages/parts.ts'
import type { TeamFormOutcome } from '../form-outcome.ts'
import { teamPage } from '../frame.ts'
import type { FramedViewer } from '../frame.ts'
import { mistakeOf, noticeOf } from '../notices.ts'
import type { TeamNotice } from '../notices.ts'
import { MAX_MEMBER_CHOICES } from './find-limits.ts'
import type { LimitChoices } from './find-limits.ts'
import { limitLines, nameOfLimit } from './limit-lines.ts'

export type LimitsPage = TeamFormOutcome<TeamLimitsForm> & {
  readonly limits: readonly LimitAnswer[]
  /** Whose limits an admin can set; null for a member, who has no forms. */
  readonly choices: LimitChoices | null
}

/** What calls may cost, and what was spent of it: of the whole team for its admins, of the person for a member. */
export function limitsPage(viewer: FramedViewer, { limits, choices, notice, draft }: LimitsPage): Html {
  const path = `${viewer.path}/limits`
  const isAdmin = choices !== null
  const outcome = { draft, notice }
  return teamPage(
    viewer,
    'limits',
    html`${noticeOf(notice)} ${choices && addPart(path, choices, outcome)}
      <section class="part" aria-labelledby="limits">
        <h2 id="limits">${isAdmin ? 'Spending limits of the team' : 'Limits of your calls'} ${countOf(limits)}</h2>
        ${
          limits.length === 0
            ? html`<p class="empty">${isAdmin ? 'None yet.' : 'No spending limit applies to your calls.'}</p>`
            : html`<ul class="rows">
                ${limits.map(
                  (limit) =>
                    html`<li class="${isAdmin ? 'row' : 'row plain'}">
                      ${limitLines(limit, viewer.role)} ${factsOf(limit)} ${isAdmin && editPart(limit, path, outcome)}
                    </li>`,
                )}
              </ul>`
        }
        ${
          limits.length > 0 &&
          html`<p class="hint">
            A call is refused when one of its limits is used up. ${!isAdmin && 'An admin of the team can raise it.'}
          </p>`
        }
      </section>`,
  )
}

function factsOf({ unpricedCalls, unknownCalls }: LimitAnswer): Interpolation {
  return [
    unpricedCalls > 0 && fact(`Calls without a price, which do not count: ${toCount(unpricedCalls)}`),
    unknownCalls > 0 && fact(`Calls with unknown usage, which count by an estimate: ${toCount(unknownCalls)}`),
  ]
}

function fact(text: string): Html {
  return html`<p class="row-facts">${text}</p>`
}

type Outcome = TeamFormOutcome<TeamLimitsForm>

function addPart(path: string, choices: LimitChoices, { draft, notice }: Outcome): Html {
  const given = draft?.action === 'create' ? draft : null
  return html`<section class="part" aria-labelledby="add">
    <h2 id="add">Set a limit</h2>
    <p class="about">
      Calls are refused when the limit is used up. What was already spent in the current period counts. A limit of one
      member replaces the limit of each member for the same period.
    </p>
    <form method="post" action="${path}" class="fields">
      ${choiceField({
        id: 'whose',
        name: 'whose',
        label: 'Whose calls',
        choices: toWhoseChoices(choices),
        chosen: given?.whose ?? 'team',
        mistake: given ? mistakeOf(notice, 'unknown_subject', 'limit_exists') : undefined,
      })}
      ${choiceField({
        id: 'period',
        name: 'period',
        label: 'Period',
        choices: PERIODS.map((period) => [period, `A ${period}`] as const),
        chosen: given?.period ?? 'month',
      })}
      ${amountField('amount', given?.amount ?? '', given && notice)}
      ${actionButton('create', 'Set the limit', 'primary')}
    </form>
    ${
      choices.members.length === MAX_MEMBER_CHOICES &&
      html`<p class="hint">
        Only the first ${toCount(MAX_MEMBER_CHOICES)} members are listed. Set limits of the others with
        <code>svc limits set --member</code>.
      </p>`
    }
  </section>`
}

function toWhoseChoices({ members, serviceAccounts, keys }: LimitChoices): readonly (Choice | ChoiceGroup)[] {
  return [
    ['team', 'The whole team'],
    ['members', 'Each member by itself'],
    { heading: 'One member', choices: members.map((email) => [`member:${email}`, email]) },
    {
      heading: 'One service account',
      choices: serviceAccounts.map(({ id, name }) => [`service_account:${id}`, name]),
    },
    {
      heading: 'One API key',
      choices: keys.map(({ id, name, owner }) => [`key:${id}`, `${name} (${owner ?? 'your own'})`]),
    },
  ]
}

function amountField(id: string, value: string, notice: TeamNotice | null): Html {
  return inputField({
    id,
    name: 'amount',
    label: 'Amount',
    hint: 'USD, such as 50 or 2.50',
    value,
    attributes: html`required maxlength="64" inputmode="decimal"`,
    mistake: mistakeOf(notice, 'invalid_amount'),
  })
}

function editPart(limit: LimitAnswer, path: string, { draft, notice }: Outcome): Html {
  const given = draft?.action === 'change' && draft.limitId === limit.id ? draft : null
  const limitId = html`<input type="hidden" name="limitId" value="${limit.id}" />`
  return fold(
    'Edit',
    nameOfLimit(limit),
    [
      html`<form method="post" action="${path}" class="fields">
        ${limitId}
        ${amountField(`amount-${limit.id}`, given?.amount ?? writeExactUsd(limit.amountNanoUsd), given && notice)}
        ${actionButton('change', 'Change the amount')}
      </form>`,
      html`<form method="post" action="${path}">
        ${limitId}
        <p>Calls are no longer refused because of it. What was spent stays in the reports.</p>
        ${actionButton('remove', 'Remove the limit', 'danger')}
      </form>`,
    ],
    given !== null,
  )
}
