import type { Histogram, Registry } from 'prom-client'
import Counter from 'prom-client/lib/counter.js'

/**
 * Counters and histograms for events that happen at every request. prom-client validates and joins the labels each
 * time, which costs a tenth of a small model call. These look labels up in a map, and prom-client reads them when the
 * metrics are scraped. Label values are given in the order of `labelNames`.
 */
type Metric = { readonly name: string; readonly help: string; readonly labelNames: readonly string[] }

/**
 * Makes a function that adds to a counter. `known`: the labels of series that are shown with 0 from the start. In
 * Prometheus, a series that appears with 1 has not risen, so an alert would miss the first event.
 */
export function makeCounter(
  registry: Registry,
  metric: Metric,
  known: readonly (readonly string[])[] = [],
): (by: number, ...labels: readonly string[]) => void {
  const seriesOf = openSeries(() => ({ count: 0 }))
  known.forEach(seriesOf)
  new Counter({
    ...metric,
    registers: [registry],
    collect() {
      this.reset()
      for (const { labels, count } of seriesOf.all()) this.labels(...labels).inc(count)
    },
  })
  return (by, ...labels) => void (seriesOf(labels).count += by)
}

/** Makes a function that observes a value in a histogram with these bucket bounds. */
export function makeHistogram(
  registry: Registry,
  { name, help, labelNames, buckets }: Metric & { readonly buckets: readonly number[] },
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
  const histogram = {
    name,
    get: () =>
      Promise.resolve({ name, help, type: 'histogram', aggregator: 'sum', values: seriesOf.all().flatMap(samplesOf) }),
  }
  // The registry reads only `name` and `get` of a metric.
  registry.registerMetric(histogram as unknown as Histogram)
  return (value, ...labels) => {
    const series = seriesOf(labels)
    series.count += 1
    series.sum += value
    // Buckets are cumulative: a value counts in every bucket whose bound is not below it.
    for (let at = buckets.length - 1; at >= 0 && value <= (buckets[at] ?? 0); at--) {
      series.within[at] = (series.within[at] ?? 0) + 1
    }
  }
}

type Series<T> = T & { readonly labels: readonly string[] }
type Node<T> = { series: Series<T> | null; readonly next: Map<string, Node<T>> }

/** Keeps one series for each combination of label values. A map for each label is faster than joining their values. */
function openSeries<T extends object>(fresh: () => T) {
  const root: Node<T> = { series: null, next: new Map() }
  const known: Series<T>[] = []

  function addNode(node: Node<T>, label: string): Node<T> {
    const added: Node<T> = { series: null, next: new Map() }
    node.next.set(label, added)
    return added
  }

  function addSeries(node: Node<T>, labels: readonly string[]): Series<T> {
    node.series = { ...fresh(), labels }
    known.push(node.series)
    return node.series
  }

  const seriesOf = (labels: readonly string[]): Series<T> => {
    let node = root
    for (const label of labels) node = node.next.get(label) ?? addNode(node, label)
    return node.series ?? addSeries(node, labels)
  }
  return Object.assign(seriesOf, { all: (): readonly Series<T>[] => known })
}
