/** Spans of traces (OpenTelemetry), as the parts of the service create them. `server/` decides where they go. */
import type { IncomingHttpHeaders } from 'node:http'

/** Names of the semantic conventions of OpenTelemetry, or `svc.` names. What is null is left out. */
export type SpanAttributes = Readonly<Record<string, string | number | boolean | readonly string[] | null>>

export type NewSpan = {
  readonly name: string
  readonly attributes: SpanAttributes
  /** Default: now. */
  readonly startedAt?: Date
}

export type Span = {
  /** Adds attributes, or replaces them. */
  set(attributes: SpanAttributes): void
  /** Marks the span as failed. `reason` is a status or one word, never a message, which could contain content. */
  fail(reason: string): void
  /** Ends the span and hands it over for export. */
  end(): void
}

/** The span of a request to this service. */
export type ServerSpan = Span & {
  /** Starts the span of a request to another server that this request needs. */
  startClientSpan(span: NewSpan): ClientSpan
}

/** The span of a request to another server. */
export type ClientSpan = Span & {
  /**
   * The headers that make the other server's spans part of the trace (W3C Trace Context); names and values alternate.
   */
  readonly headers: readonly string[]
}

export type Tracer = {
  /** Starts the span of a request. It continues the trace that the request's headers name (W3C Trace Context). */
  startServerSpan(span: NewSpan, headers: IncomingHttpHeaders): ServerSpan
}

/** The backends that are sent the ids of a trace. `local`: the local worker. */
export type TracedBackends = 'local' | 'all' | 'none'
