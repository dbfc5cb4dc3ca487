import type { NewSpan, ServerSpan, Span, SpanAttributes, Tracer } from '../../src/kernel/tracer.ts'

/** A span as it was when it ended. */
export type RecordedSpan = {
  readonly kind: 'server' | 'client'
  readonly name: string
  readonly parent: string | null
  readonly attributes: SpanAttributes
  readonly error: string | null
}

/** The trace context of client spans. */
export const SPAN_CONTEXT = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'

type Recorded = {
  readonly tracer: Tracer
  /** Those that have ended. */
  readonly spans: RecordedSpan[]
  /** How many spans were started and have not ended. */
  running(): number
}

/** A tracer that keeps spans when they end. The parent of a server span is the `traceparent` of its request. */
export function recordSpans(): Recorded {
  const spans: RecordedSpan[] = []
  let running = 0

  function start(kind: RecordedSpan['kind'], { name, attributes }: NewSpan, parent: string | null): Span {
    let recorded: RecordedSpan = { kind, name, parent, attributes, error: null }
    running += 1
    return {
      set: (more) => void (recorded = { ...recorded, attributes: { ...recorded.attributes, ...more } }),
      fail: (error) => void (recorded = { ...recorded, error }),
      end() {
        running -= 1
        spans.push(recorded)
      },
    }
  }

  const tracer: Tracer = {
    startServerSpan(span, headers): ServerSpan {
      const { traceparent } = headers
      return {
        ...start('server', span, typeof traceparent === 'string' ? traceparent : null),
        startClientSpan: (child) => ({
          ...start('client', child, span.name),
          headers: ['traceparent', SPAN_CONTEXT],
        }),
      }
    },
  }
  return { tracer, spans, running: () => running }
}
