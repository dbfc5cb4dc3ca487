import { Counter, Histogram, Registry } from 'prom-client'
import { describe, expect, it } from 'vitest'
import { makeCounter, makeHistogram } from '../../src/http/telemetry/fast-metrics.ts'

const about = { name: 'seen', help: 'Number of sightings.', labelNames: ['who', 'how'] } as const
const LABELS = [
  ['ada', 'well'],
  ['ada', 'ill'],
  ['b"ob\n', 'well'],
] as const

describe('counters and histograms that are counted here have the same text as those of prom-client', () => {
  it('for a counter', async () => {
    const [ours, theirs] = [new Registry(), new Registry()]
    const count = makeCounter(ours, about)
    const counter = new Counter({ ...about, registers: [theirs] })
    for (const [at, labels] of [...LABELS, ...LABELS].entries()) {
      count(at + 1, ...labels)
      counter.labels(...labels).inc(at + 1)
    }
    expect(await ours.metrics()).toBe(await theirs.metrics())
    // A second scrape gives the same text.
    expect(await ours.metrics()).toBe(await theirs.metrics())
  })

  it('for a histogram with values at, between and beyond the bounds of its buckets', async () => {
    const [ours, theirs] = [new Registry(), new Registry()]
    const observe = makeHistogram(ours, { ...about, buckets: [0.1, 0.5, 2.5] })
    const histogram = new Histogram({ ...about, buckets: [0.1, 0.5, 2.5], registers: [theirs] })
    for (const labels of LABELS) {
      for (const value of [0, 0.1, 0.2, 0.5, 0.75, 2.5, 3]) {
        observe(value, ...labels)
        histogram.labels(...labels).observe(value)
      }
    }
    expect(await ours.metrics()).toBe(await theirs.metrics())
  })
})
