import { Counter } from 'prom-client'
import type { Histogram, Registry } from 'prom-client'

/**
 * Metrics for what happens at every request. prom-client's own check and join all labels and write numbers as text each time, which cost a tenth of a
 * small model call; these cost a look into a map, and are what prom-client shows when somebody asks. Labels come in the order of their names.
 */
type Counted = { readonly name: string; readonly help: string; readonly labelNames: readonly string[] }

/** Counts up, by so much. */
export function quickCounter(registry: Registry, counted: Counted): (by: number, ...labels: readonly string[]) => void {
  const seriesOf = openSeries(() => ({ count: 0 }))
  new Counter({
    ...counted,
    registers: [registry],
    collect() {
      this.reset()
      for (const { labels, count } of seriesOf.all()) this.labels(...labels).inc(count)
    },
  })
  return (by, ...labels) => void (seriesOf(labels).count += by)
}

/** Counts what is observed, by the smallest of these bounds that is not below it. */
export function quickHistogram(
  registry: Registry,
  { name, help, labelNames, buckets }: Counted & { readonly buckets: readonly number[] },
): (value: number, ...labels: readonly string[]) => void {
  const seriesOf = openSeries(() => ({ within: buckets.map(() => 0), count: 0, sum: 0 }))

  function samplesOf({ labels: values, within, count, sum }: ReturnType<typeof seriesOf>) {
    const labels = Object.fromEntries(labelNames.map((label, at) => [label, values[at] ?? '']))
    const bucket = (le: number | string, value: number) => ({
      metricName: `${name}_bucket`,
      labels: { le, ...labels },
      value,
    })
    return [
      ...buckets.map((bound, at) => bucket(bound, within[at] ?? 0)),
      bucket('+Inf', count),
      { metricName: `${name}_sum`, labels, value: sum },
      { metricName: `${name}_count`, labels, value: count },
    ]
  }
  const metric = {
    name,
    get: () =>
      Promise.resolve({ name, help, type: 'histogram', aggregator: 'sum', values: seriesOf.all().flatMap(samplesOf) }),
  }
  // Of a metric that it did not make, a registry asks nothing else.
  registry.registerMetric(metric as unknown as Histogram)
  return (value, ...labels) => {
    const series = seriesOf(labels)
    series.count += 1
    series.sum += value
    // Each bucket counts those of the smaller ones too.
    for (let at = buckets.length - 1; at >= 0 && value <= (buckets[at] ?? 0); at--) {
      series.within[at] = (series.within[at] ?? 0) + 1
    }
  }
}

/** What is counted for each combination of labels. */
function openSeries<T extends object>(fresh: () => T) {
  const known = new Map<string, T & { readonly labels: readonly string[] }>()
  const seriesOf = (labels: readonly string[]) => {
    const key = labels.join('\n')
    const found = known.get(key)
    if (found) return found
    const series = { ...fresh(), labels }
    known.set(key, series)
    return series
  }
  return Object.assign(seriesOf, { all: () => [...known.values()] })
}
