import { readFileSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { readAlertRules } from '../support/source/alert-rules.ts'
import { itemsOf, readPage, ROOT, sectionOf } from '../support/source/documents.ts'
import { findMetrics } from '../support/source/source-facts.ts'

type Dashboard = {
  readonly templating: { readonly list: readonly { readonly name: string; readonly query: string }[] }
  readonly panels: readonly { readonly title: string; readonly targets: readonly { readonly expr: string }[] }[]
}

const file = path.join(ROOT, 'docs/grafana-dashboard.json')
const { templating, panels } = JSON.parse(readFileSync(file, 'utf8')) as Dashboard
const queries = [
  ...panels.flatMap(({ targets }) => targets.map(({ expr }) => expr)),
  ...templating.list.map(({ query }) => query).filter((query) => query.startsWith('label_values')),
]

const metrics = new Map(
  findMetrics().flatMap(({ name, kind, labels }) => {
    const samples = kind === 'histogram' ? ['_bucket', '_sum', '_count'].map((suffix) => name + suffix) : [name]
    return samples.map((sample) => [sample, [...labels, ...(sample.endsWith('_bucket') ? ['le'] : [])]] as const)
  }),
)

/** The labels that a query filters by, groups by or lists. */
function labelsOf(query: string): string[] {
  const filtered = [...query.matchAll(/([a-z_]+)(?:=~|!~|!=|=)"/g)].map(([, label = '']) => label)
  const grouped = [...query.matchAll(/by \(([^)]*)\)/g)].flatMap(([, labels = '']) => labels.split(', '))
  const listed = [...query.matchAll(/label_values\(\w+, (\w+)\)/g)].map(([, label = '']) => label)
  return [...filtered, ...grouped, ...listed]
}

function expectKnown(query: string): void {
  const names = [...query.matchAll(/\bsvc_\w+/g)].map(([name]) => name)
  expect(names.length).toBeGreaterThan(0)
  expect(names.filter((name) => !metrics.has(name))).toEqual([])
  const known = new Set(names.flatMap((name) => metrics.get(name) ?? []))
  expect(labelsOf(query).filter((label) => !known.has(label))).toEqual([])
}

describe('docs/deploy/prometheus-alerts.yaml', () => {
  const rules = readAlertRules()
  const ofService = rules.map(({ expr }) => expr).filter((expr) => expr.includes('svc_'))

  it.each(ofService)('asks only for metrics and labels that exist: %s', expectKnown)

  it('has the alerts that docs/monitoring.md explains', () => {
    const items = itemsOf(sectionOf(readPage('docs/monitoring.md'), 'Alerts'))
    const explained = items.map((item) => /^`(Svc\w+)`: /.exec(item)?.[1])
    expect(explained).toEqual(rules.map(({ alert }) => alert))
  })
})

describe('docs/grafana-dashboard.json', () => {
  it.each(queries)('asks only for metrics and labels that exist: %s', expectKnown)

  it('shows every metric of the service', () => {
    const shown = queries.join(' ')
    expect(findMetrics().filter(({ name }) => !shown.includes(name))).toEqual([])
  })
})
