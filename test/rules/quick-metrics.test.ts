import { Counter, Histogram, Registry } from 'prom-client'
import { describe, expect, it } from 'vitest'
import { quickCounter, quickHistogram } from '../../src/http/call-histograms.ts'

const about = { name: 'seen', help: 'What was seen.', labelNames: ['who', 'how'] } as const
const LABELS = [
  ['ada', 'well'],
  ['ada', 'ill'],
  ['b"ob\n', 'well'],
] as const

describe('what is counted quickly reads as prom-client’s own', () => {
  it('counter', async () => {
    const [ours, theirs] = [new Registry(), new Registry()]
    const count = quickCounter(ours, about)
    const counter = new Counter({ ...about, registers: [theirs] })
    for (const [at, labels] of [...LABELS, ...LABELS].entries()) {
      count(at + 1, ...labels)
      counter.labels(...labels).inc(at + 1)
    }
    expect(await ours.metrics()).toBe(await theirs.metrics())
    // Asked again, it is the same.
    expect(await ours.metrics()).toBe(await theirs.metrics())
  })

  it('histogram, at its bounds, between and beyond them', async () => {
    const [ours, theirs] = [new Registry(), new Registry()]
    const observe = quickHistogram(ours, { ...about, buckets: [0.1, 0.5, 2.5] })
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
