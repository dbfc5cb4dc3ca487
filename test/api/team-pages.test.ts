import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { makeCallEventStore } from '../../src/gateway/usage/store.ts'
import { accountIdOf, eventOf, saveEvents } from '../support/agent-sessions.ts'
import { endedCall } from '../support/call-events.ts'
import { signInBrowser } from '../support/people.ts'
import { expectJson, expectOk, form, json, outcomeOf } from '../support/requests.ts'
import { INVITATIONS_PATH, startTeam } from '../support/team.ts'
import type { TestTeam } from '../support/team.ts'

const HOME = '/teams/acme/core'
const HTML = { accept: 'text/html' }
/** An attempt at a backend before the one that served the call. */
const BEFORE = { model: 'vendora/<large>', servedBy: 'asked-before' }

let team: TestTeam
let adminCookie: string
/** The day of all calls. */
let today: string

beforeAll(async () => {
  team = await startTeam()
  const { service } = team
  const at = service.clock.now().toISOString()
  today = at.slice(0, 10)
  const { prisma } = service.database
  const accounts = new Map((await prisma.account.findMany()).map(({ email, id }) => [email, id]))
  const ada = accounts.get('ada@example.com') ?? ''
  const member = accounts.get('member@example.com') ?? ''
  const cheap = { usage: { inputTokens: 1234, outputTokens: 1 }, result: { costNanoUsd: 4_200_000 } }
  const dear = { usage: { inputTokens: 20, outputTokens: 2 }, result: { costNanoUsd: 12_345_678_000_000 } }
  await makeCallEventStore(service.database).save({
    id: 'batch_1',
    events: [
      endedCall({ at, ...cheap, accountId: member, call: { model: 'svc/fast' } }),
      endedCall({ at, ...dear, accountId: ada, call: { model: 'vendora/<large>', sessionId: 'run-1' } }),
      endedCall({ at, ...dear, accountId: ada, team: '@acme/other', call: { model: 'svc/theirs' } }),
      endedCall({ at, accountId: ada, kind: 'retried', usage: { inputTokens: 1 }, call: BEFORE }),
    ],
  })
  adminCookie = await signInBrowser(service, 'ada@example.com')
})
afterAll(() => team[Symbol.asyncDispose]())

/** The text of a page, without markup. */
async function textOf(answer: Promise<Response>): Promise<string> {
  const response = await answer
  expect(response.headers.get('content-type')).toMatch(/^text\/html/)
  expect(response.headers.get('cache-control')).toBe('no-store')
  const markup = await response.text()
  return `${response.status} ${markup.replaceAll(/<[^>]*>/g, ' ').replaceAll(/\s+/g, ' ')}`
}

const asBrowser = (path: string) => team.service.fetch(path, { headers: { ...HTML, cookie: adminCookie } })

describe('openOwnTeam', () => {
  it('303: leads to the page of the team', async () => {
    const response = await team.asMember('/teams', { redirect: 'manual' })
    expect([response.status, response.headers.get('location')]).toEqual([303, HOME])
  })
})

describe('showTeamOverview', () => {
  it('200: shows an admin what the team used, in a browser', async () => {
    const text = await textOf(asBrowser(HOME))
    expect(text).toContain('Spend $12,345.68')
    expect(text).toContain('Calls 2')
    expect(text).toContain('vendora/&lt;large&gt; $12,345.68')
    expect(text).toContain('member@example.com $0.0042')
    expect(text).toContain('Slowest models lately')
    expect(text).not.toContain('svc/theirs')
  })

  it('200: shows a member their own calls only', async () => {
    const text = await textOf(team.asMember(HOME))
    expect(text).toContain('Your calls this month')
    expect(text).toContain('Spend $0.0042')
    expect(text).not.toMatch(/12,345|ada@example.com|large/)
  })

  it('200: leads to the other teams of the person, and not to those of other people', async () => {
    const markup = async () => (await team.asMember(HOME)).text()
    expect(await markup()).not.toContain('acme/other')
    const invitations = '/v1/teams/%40acme%2Fother/invitations'
    await expectOk('The invitation', team.asStranger(invitations, json({ email: 'member@example.com' })))
    expect(await markup()).toContain('<a href="/teams/acme/other" class="name">@acme/other</a>')
    // By name, however old the invitations are.
    const { prisma } = team.service.database
    const organization = { connect: { name: 'acme' } }
    const account = { connect: { email: 'member@example.com' } }
    for (const name of ['zeta', 'beta']) {
      const invitation = { account, source: 'admin', createdAt: team.service.clock.now() } as const
      await prisma.team.create({ data: { name, organization, invitations: { create: invitation } } })
    }
    const names = [...(await markup()).matchAll(/class="name">@acme\/(\w+)<\/a>/g)].map(([, name]) => name)
    expect(names).toEqual(['beta', 'other', 'zeta'])
  })
})

describe('showTeamUsage', () => {
  it('200: shows rows by model and a link to the same table as a file', async () => {
    const response = await team.asAdmin(`${HOME}/usage?from=${today}&to=${today}&by=model`)
    const markup = await response.clone().text()
    expect(markup).toContain(`/teams/acme/core/usage.csv?from=${today}&to=${today}&by=model`)
    expect(await textOf(Promise.resolve(response))).toMatch(/svc\/fast \$0\.0042 1 0 1,234 0 1 Total \$12,345\.68 2 0/)
  })

  it('200: does not call the attempts at a backend free that has no price', async () => {
    const text = textOf(team.asAdmin(`${HOME}/usage?from=${today}&to=${today}&by=backend`))
    expect(await text).toContain('asked-before no price 0 0 1 0 0')
  })

  it('200: shows no chart for more than 92 days', async () => {
    const before = new Date(Date.parse(today) - 92 * 86_400_000).toISOString().slice(0, 10)
    const text = await textOf(team.asAdmin(`${HOME}/usage?from=${before}`))
    expect(text).toContain('A chart covers at most 92 days')
  })

  it('400: explains a period that is not valid, also at its field', async () => {
    const response = await team.asAdmin(`${HOME}/usage?from=2026-11-21&to=2026-11-20`, { headers: HTML })
    expect(await response.clone().text()).toMatch(/id="from-mistake">Must not be after the last day\.</)
    const text = await textOf(Promise.resolve(response))
    expect(text).toMatch(/^400 .*First day: must not be after the last day\. This month is shown instead/)
  })
})

describe('downloadTeamUsage', () => {
  it('200: returns the table of the page, of the caller’s own calls for a member', async () => {
    const response = await team.asMember(`${HOME}/usage.csv?from=${today}&to=&by=model`, { headers: HTML })
    expect(response.headers.get('content-disposition')).toBe(
      `attachment; filename=usage-acme-core-${today}-${today}.csv`,
    )
    expect(await response.text()).toMatch(/^model,name,calls.*\r\nsvc\/fast,,1,[^\n]*0\.004200000\r\n$/)
  })

  it('400: refuses a period that is not valid', async () => {
    expect(await outcomeOf(await team.asAdmin(`${HOME}/usage.csv?from=x`))).toBe('400 invalid_request')
  })
})

describe('showTeamLimits and changeTeamLimits', () => {
  const PAGE = `${HOME}/limits`
  const change = (fields: Record<string, string>) => team.service.fetch(PAGE, form(fields, team.admin))
  const create = (whose: string, amount: string, period = 'month') =>
    textOf(change({ action: 'create', whose, period, amount }))
  const idOf = async (subject: 'team' | 'member') =>
    (await team.service.database.prisma.spendingLimit.findFirstOrThrow({ where: { subject } })).id

  /** Creates a service account with a key. */
  async function createAccountKey(by: TestTeam['asAdmin'], name: string, keyName: string): Promise<{ id: string }> {
    const path = `/v1/teams/%40acme%2F${name}/service-accounts`
    const account = await expectJson<{ id: string }>('The service account', by(path, json({ name: 'nightly' })))
    await expectOk('The key', by(`${path}/${account.id}/keys`, json({ name: keyName })))
    return account
  }

  it('200: says that there is none, also on the overview', async () => {
    expect(await textOf(team.asAdmin(PAGE))).toContain('Spending limits of the team None yet.')
    expect(await textOf(team.asMember(PAGE))).toContain('No spending limit applies to your calls.')
    expect(await textOf(team.asAdmin(HOME))).not.toContain('Spending limits')
  })

  it('200: sets limits of the team, of each member, of one member, of a service account and of a key', async () => {
    const account = await createAccountKey(team.asAdmin, 'core', '<job>')
    await createAccountKey(team.asStranger, 'other', 'theirs')
    const gone = await team.invite('gone@example.com')
    await expectOk('The withdrawal', team.asAdmin(`${INVITATIONS_PATH}/${gone}`, { method: 'DELETE' }))
    const choices = [...(await (await team.asAdmin(PAGE)).text()).matchAll(/<option value="(\w+:[^"]+)"/g)]
    const [, member, ...others] = choices.map(([, whose = '']) => whose)
    expect(member).toBe('member:member@example.com')
    expect(others).toEqual([`service_account:${account.id}`, expect.stringMatching(/^key:/)])
    for (const whose of ['team', 'members', member ?? '', ...others])
      expect(await create(whose, '20000', whose === 'members' ? 'day' : 'month')).toMatch(/^200 .* The limit is set\./)
    const text = await textOf(team.asAdmin(PAGE))
    expect(text).toMatch(/The whole team \$12,345\.68 of \$20,000\.00 this month Resets 1 \w{3} \d{4}, 00:00 \(UTC\)/)
    expect(text).toContain('Each member $12,345.68 of $20,000.00 today by the member who spent the most')
    expect(text).toContain('API key &lt;job&gt; $0.00 of $20,000.00 this month')
    expect(await (await team.asAdmin(PAGE)).text()).toMatch(/role="img"\s+aria-label="62% used"/)
  })

  it('200: shows a member the limits that apply to them, without forms', async () => {
    const response = await team.asMember(PAGE)
    expect(await response.clone().text()).not.toContain('<form method="post" action="/teams')
    const text = await textOf(Promise.resolve(response))
    expect(text).toContain('The whole team $12,345.68 of $20,000.00 this month')
    expect(text).toContain('Each member $0.0042 of $20,000.00 today')
    expect(text).toContain('member@example.com $0.0042 of $20,000.00 this month')
    expect(text).not.toMatch(/nightly|spent the most|job/)
    expect(text).toContain('An admin of the team can raise it.')
  })

  it('200: has the limits on the overview, the most used first', async () => {
    expect(await textOf(asBrowser(HOME))).toContain(
      'Spending limits The whole team $12,345.68 of $20,000.00 this month Resets 1 ',
    )
    expect(await textOf(team.asMember(HOME))).toContain('Your spending limits The whole team $12,345.68 of $20,000.00')
  })

  it('200 and 404: changes the amount, and removes the limit', async () => {
    const limitId = await idOf('team')
    const changed = await textOf(change({ action: 'change', limitId, amount: '100.000000001' }))
    expect(changed).toMatch(/^200 .* The limit is changed\. .* The whole team Used up \$12,345\.68 of \$100\.00/)
    expect(await (await team.asAdmin(PAGE)).text()).toContain('value="100.000000001"')
    expect(await textOf(change({ action: 'remove', limitId }))).toMatch(/^200 .* The limit is removed\./)
    for (const action of ['change', 'remove'])
      expect(await textOf(change({ action, limitId, amount: '1' }))).toMatch(/^404 .* The team has no such limit/)
  })

  it('400 and 409: says what is wrong, and keeps the form filled in', async () => {
    const refused = await change({ action: 'create', whose: 'members', period: 'week', amount: '1,5"' })
    const markup = await refused.clone().text()
    expect(markup).toContain('<option value="members" selected>')
    expect(markup).toContain('<option value="week" selected>')
    expect(markup).toContain('value="1,5&quot;"')
    expect(await textOf(Promise.resolve(refused))).toMatch(/^400 .* Write the amount in USD as 50 or 2\.50/)
    const edit = await (await change({ action: 'change', limitId: await idOf('member'), amount: '0' })).text()
    expect(edit).toMatch(/<details class="fold" name="row" open>[^]*name="amount"\s+value="0"/)
    for (const whose of ['member:stranger@example.com', 'key:1', 'team:x', 'member', 'everybody'])
      expect(await create(whose, '1')).toMatch(/^400 .* The team has no such member, API key or service account/)
    expect(await create('members', '1', 'day')).toMatch(/^409 .* There is a limit for the same calls and period/)
    expect((await change({ action: 'create', whose: 'team', amount: '1' })).status).toBe(400)
  })

  it('200: is about the team of the page, also where the caller has signed in to another one', async () => {
    const OTHER = '/v1/teams/%40acme%2Fother'
    await expectOk('The invitation', team.asStranger(`${OTHER}/invitations`, json({ email: 'ada@example.com' })))
    const limit = { subject: 'team', period: 'week', amountNanoUsd: 77_000_000_000 }
    await expectOk('The limit', team.asStranger(`${OTHER}/limits`, json(limit)))
    const text = await textOf(team.asAdmin('/teams/acme/other/limits'))
    expect(text).toContain('of $77.00 this week')
    expect(text).not.toContain('$20,000.00')

    const idOfKey = async (answer: Promise<Response>) =>
      (await expectJson<{ info: { id: string } }>('The key', answer)).info.id
    const theirs = await idOfKey(team.asAdmin('/v1/keys', json({ name: 'theirs', team: '@acme/other' })))
    const old = await idOfKey(team.asAdmin('/v1/keys', json({ name: 'old' })))
    const next = await idOfKey(team.asAdmin(`/v1/keys/${old}/rotate`, json({})))
    const markup = await (await team.asAdmin(PAGE)).text()
    expect([theirs, old, next].filter((id) => markup.includes(`value="key:${id}"`))).toEqual([next])
  })
})

describe('showTeamModels', () => {
  it('200: says that there is none yet', async () => {
    expect(await textOf(team.asMember(`${HOME}/models`))).toContain('None yet.')
  })
})

describe('showTeamSessions', () => {
  it('200: lists the sessions with links to their live view', async () => {
    const markup = await (await team.asMember(`${HOME}/sessions`)).text()
    expect(markup).toContain('href="/session#id=run-1&amp;account=ada%40example.com&amp;team=%40acme%2Fcore"')
  })

  it('200: leads to the older sessions, and back to the first page', async () => {
    const accountId = await accountIdOf(team.service, 'ada@example.com')
    const ids = Array.from({ length: 51 }, (_, index) => `run-${index}`)
    const runs = ids.map((sessionId) => ({ team: '@acme/other', accountId, sessionId }))
    await saveEvents(team.service, ...runs.map((run) => eventOf('finished', run)))
    const page = async (path: string) => (await team.asStranger(path)).text()
    const idsOf = (markup: string) => [...markup.matchAll(/#id=(run-\d+)/g)].map(([, id]) => id)
    const path = '/teams/acme/other/sessions'

    const first = await page(path)
    const older = await page(/href="([^"]*before=[^"]*)"/.exec(first)?.[1] ?? '')
    expect(idsOf(first)).toHaveLength(50)
    expect([...idsOf(first), ...idsOf(older)].toSorted()).toEqual(ids.toSorted())
    expect(older).toContain(`href="${path}"`)
    expect(older).not.toContain('before=')
  })

  it('400: refuses a place that is none', async () => {
    expect(await outcomeOf(await team.asMember(`${HOME}/sessions?before=x`))).toBe('400 invalid_request')
  })
})

describe.each(['', '/usage', '/usage.csv', '/limits', '/models', '/sessions'])('the page %s of a team', (page) => {
  it('401: shows how to sign in, and a passkey leads back', async () => {
    const response = await team.service.fetch(HOME + page, { headers: HTML })
    expect(response.status).toBe(401)
    const markup = await response.text()
    expect(markup).toContain('Sign in to see your team')
    expect(markup).toContain(`data-then="${HOME}${page}"`)
  })

  it('404: does not exist for people who are not in the team', async () => {
    const response = await team.asStranger(HOME + page, { headers: HTML })
    expect(response.status).toBe(404)
    expect(await response.text()).toContain('There is no such page, or it is not yours to see.')
    expect(await outcomeOf(await team.asAdmin(`/teams/ACME/%40core${page}`))).toBe('404 not_found')
  })
})

it('the page of the own team asks to sign in first', async () => {
  expect(await outcomeOf(await team.service.fetch('/teams'))).toBe('401 authenticate_first')
})
