import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { callEventStore } from '../../src/gateway/usage/store.ts'
import { endedCall } from '../support/call-events.ts'
import { signInBrowser } from '../support/people.ts'
import { outcomeOf } from '../support/requests.ts'
import { startTeam } from '../support/team.ts'
import type { TestTeam } from '../support/team.ts'

const HOME = '/teams/acme/core'
const HTML = { accept: 'text/html' }

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
  await callEventStore(prisma).save({
    id: 'batch_1',
    events: [
      endedCall({ at, ...cheap, accountId: member, call: { model: 'svc/fast' } }),
      endedCall({ at, ...dear, accountId: ada, call: { model: 'vendora/<large>', sessionId: 'run-1' } }),
      endedCall({ at, ...dear, accountId: ada, team: '@acme/other' }),
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
  })

  it('200: shows a member their own calls only', async () => {
    const text = await textOf(team.asMember(HOME))
    expect(text).toContain('Your calls this month')
    expect(text).toContain('Spend $0.0042')
    expect(text).not.toMatch(/12,345|ada@example.com|large/)
  })
})

describe('showTeamUsage', () => {
  it('200: shows rows by model and a link to the same table as a file', async () => {
    const response = await team.asAdmin(`${HOME}/usage?from=${today}&to=${today}&by=model`)
    const markup = await response.clone().text()
    expect(markup).toContain(`/teams/acme/core/usage.csv?from=${today}&to=${today}&by=model`)
    expect(await textOf(Promise.resolve(response))).toMatch(/svc\/fast \$0\.0042 1 0 1,234 0 1 Total \$12,345\.68 2 0/)
  })

  it('200: shows no chart for more than 92 days', async () => {
    const before = new Date(Date.parse(today) - 92 * 86_400_000).toISOString().slice(0, 10)
    const text = await textOf(team.asAdmin(`${HOME}/usage?from=${before}`))
    expect(text).toContain('A chart covers at most 92 days')
  })

  it('400: explains a period that is not valid', async () => {
    const text = await textOf(team.asAdmin(`${HOME}/usage?from=2026-11-21&to=2026-11-20`))
    expect(text).toMatch(/^400 .*from must not be after to\. This month is shown instead/)
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

  it('400: refuses a place that is none', async () => {
    expect(await outcomeOf(await team.asMember(`${HOME}/sessions?before=x`))).toBe('400 invalid_request')
  })
})

describe.each(['', '/usage', '/usage.csv', '/models', '/sessions'])('the page %s of a team', (page) => {
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
