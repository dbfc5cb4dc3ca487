import { describe, expect, it } from 'vitest'
import type { TeamModel } from '../../generated/openapi.ts'
import { auditPage } from '../../src/control/console/audit-page.ts'
import { NO_OUTCOME } from '../../src/control/console/models/models-outcome.ts'
import { modelsPage } from '../../src/control/console/models/models-page.ts'
import { costOf } from '../../src/control/console/usage/usage-table.ts'
import type { Html } from '../../src/http/page.ts'
import { html } from '../../src/http/page.ts'
import { FRIENDLY } from '../support/pages/sample-pages.ts'
import { NO_SUMS } from '../support/pages/sample-team-pages/usage.ts'
import { makeViewers } from '../support/pages/sample-team-pages/viewers.ts'

const { admin, member } = makeViewers(FRIENDLY)

describe('the pages of a team', () => {
  it.each([
    ['vendor/writer', 1],
    ['Writer', 2],
  ])('name a model %s once where its id is its name', (displayName, count) => {
    const model: TeamModel = {
      id: 'vendor/writer',
      displayName,
      source: 'file',
      aliases: [],
      serve: [],
      contextWindow: null,
      own: null,
      published: true,
      usable: true,
      version: null,
    }
    const page = modelsPage(member, {
      models: [model],
      defaultModel: null,
      defaultModelSource: null,
      admin: null,
      ...NO_OUTCOME,
    })
    expect(textOf(page).match(/(vendor\/w|W)riter/g)).toHaveLength(count)
  })

  it('name the first of many models that a change has added, the number of the others, and no ids', () => {
    const models = Array.from({ length: 30 }, (_, index) => `model-${index + 1}`)
    const event = {
      id: '1',
      at: '2026-11-21T08:59:00.000Z',
      action: 'team.changed',
      actor: { kind: 'file', id: null, email: null },
      subject: '@acme/core',
      subjectId: null,
      ip: null,
      details: { modelsAdded: models, deviceId: 'cli-7' },
    } as const
    const text = textOf(auditPage(admin, { events: [event], isFirst: true, next: null }))
    expect(text).toContain(`models added ${models.slice(0, 8).join(' ')} and 22 more`)
    expect(text).not.toContain('cli-7')
  })

  it.each([
    ['the price is missing', { unpricedCalls: 1 }, 'no price'],
    ['the usage is unknown', { unknownCalls: 1 }, 'unknown'],
    ['there was no call', { calls: 0 }, '$0.00'],
  ])('write a cost that is not known, because %s', (_reason, given, text) => {
    expect(textOf(html`<p>${costOf({ ...NO_SUMS, calls: 1, ...given })}</p>`)).toBe(text)
  })
})

function textOf(markup: Html): string {
  return String(markup)
    .replaceAll(/<[^>]*>/g, ' ')
    .replaceAll(/\s+/g, ' ')
    .trim()
}
