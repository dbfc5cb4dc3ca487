import { readFileSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { peopleCommands } from '../../src/cli/commands.ts'
import { SETTING_NAMES } from '../../src/config/settings.ts'
import { itemsOf, readPage, ROOT, sectionOf } from '../support/source/documents.ts'
import { findLogEvents, findMetrics, findSettingDefaults } from '../support/source/source-facts.ts'

const monitoring = readPage('docs/monitoring.md')

describe('docs/settings.md', () => {
  const documented = itemsOf(readPage('docs/settings.md').text).flatMap((item) => {
    const [, name, given] = /^`(SVC_\w+)` \((.*?)\):/.exec(item) ?? []
    return name ? [{ name, given }] : []
  })

  it('explains every setting once, and nothing else', () => {
    expect(documented.map(({ name }) => name).toSorted()).toEqual(SETTING_NAMES.toSorted())
  })

  it('gives the defaults of src/config/settings.ts', () => {
    const inSource = [...findSettingDefaults()]
    expect(inSource.length).toBeGreaterThan(20)
    const inDocument = new Map(documented.map(({ name, given }) => [name, /^default `(.*)`$/.exec(given ?? '')?.[1]]))
    expect(inSource.map(([name]) => [name, inDocument.get(name)])).toEqual(inSource)
  })
})

describe('the page of @svc/cli', () => {
  it('has every command of people, and no other', () => {
    const { text } = readPage('packaging/cli-readme.md')
    const inTable = text
      .split('\n')
      .flatMap((line) => (line.startsWith('|') ? [...line.matchAll(/`svc ([a-z-]+)/g)] : []))
    expect([...new Set(inTable.map(([, name]) => name))].toSorted()).toEqual(Object.keys(peopleCommands).toSorted())
  })
})

describe('the variables of OpenTelemetry', () => {
  it('that the service reads itself are all in docs/settings.md', () => {
    const read = readFileSync(path.join(ROOT, 'src/config/tracing.ts'), 'utf8').match(/\bOTEL_[A-Z_]+/g) ?? []
    expect(read.length).toBeGreaterThan(5)
    const { text } = readPage('docs/settings.md')
    expect([...new Set(read)].filter((name) => !text.includes(`\`${name}`))).toEqual([])
  })
})

describe('the log events of docs/monitoring.md', () => {
  const inSource = findLogEvents()
  const documented = itemsOf(sectionOf(monitoring, 'Log events')).flatMap((item) => {
    const [, name, level] = /^`([a-z_]+\.[a-z_]+)` \((\w+)\):/.exec(item) ?? []
    return name && level ? [{ name, level }] : []
  })

  it('are all that src writes', () => {
    const missing = inSource.filter(({ name }) => !documented.some((event) => name.test(event.name)))
    expect(missing).toEqual([])
  })

  it('are all written by src, with this level, and explained once', () => {
    const unknown = documented.filter(
      (event) => !inSource.some(({ name, level }) => name.test(event.name) && level === event.level),
    )
    expect(unknown).toEqual([])
    expect(new Set(documented.map(({ name }) => name)).size).toBe(documented.length)
  })
})

describe('the metrics of docs/monitoring.md', () => {
  it('are those that src registers, with their kinds and labels', () => {
    const documented = itemsOf(sectionOf(monitoring, 'Metrics')).flatMap((item) => {
      const [, name, kind, labels = ''] = /^`(svc_\w+)` \((\w+)(?:; (.*?))?\):/.exec(item) ?? []
      return name && kind ? [{ name, kind, labels: [...labels.matchAll(/`(\w+)`/g)].map(([, label]) => label) }] : []
    })
    const byName = (a: { name: string }, b: { name: string }) => a.name.localeCompare(b.name)
    expect(documented.toSorted(byName)).toEqual(findMetrics().toSorted(byName))
  })
})
