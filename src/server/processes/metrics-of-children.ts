import type { Worker as Child } from 'node:cluster'
import type { Registry } from 'prom-client'
import type { Metrics } from '../telemetry/metrics.ts'
import { ask } from './child-messages.ts'

/** How long a process may take to answer. One that is starting does not answer. */
const MAX_ANSWER_MS = 1000

type Numbers = readonly object[]

/**
 * The sum of the metrics of several processes and of this one, `own`. A process that does not answer counts with its
 * last known metrics. Counters and histograms of processes that have ended stay in the sum: Prometheus takes a counter
 * that has fallen for one that began again at zero, and would count everything twice.
 */
export async function openMetricsOfChildren(running: () => readonly Child[], own: Registry): Promise<Metrics> {
  const { AggregatorRegistry, prometheusContentType } = await import('prom-client')
  const lastKnown = new Map<Child, Numbers>()
  let ended: Numbers = []

  async function update(child: Child): Promise<void> {
    const answer = await ask(child, { type: 'metrics' }, MAX_ANSWER_MS)
    if (answer?.type === 'metrics') lastKnown.set(child, answer.metrics)
  }
  function keepCountsOfEnded(): void {
    for (const [child, numbers] of lastKnown) {
      if (!child.isDead()) continue
      lastKnown.delete(child)
      ended = AggregatorRegistry.aggregate([ended, numbers.filter(isCumulative)]).getMetricsAsArray()
    }
  }

  return {
    async metrics() {
      await Promise.all(running().map(update))
      keepCountsOfEnded()
      return AggregatorRegistry.aggregate([await own.getMetricsAsJSON(), ended, ...lastKnown.values()]).metrics()
    },
    contentType: prometheusContentType,
  }
}

function isCumulative(metric: object): boolean {
  return 'type' in metric && (metric.type === 'counter' || metric.type === 'histogram')
}
