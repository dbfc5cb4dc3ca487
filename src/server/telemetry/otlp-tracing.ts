/** Exports spans over OTLP (OpenTelemetry Protocol, HTTP and protobuf). */
import type { IncomingHttpHeaders } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  defaultTextMapGetter,
  defaultTextMapSetter,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api'
import type { Attributes, Context, Span as OtelSpan, Tracer as OtelTracer } from '@opentelemetry/api'
import { ExportResultCode, W3CTraceContextPropagator } from '@opentelemetry/core'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto'
import {
  defaultResource,
  detectResources,
  resourceAttributesEnvDetector,
  resourceFromAttributes,
  serviceNameEnvDetector,
} from '@opentelemetry/resources'
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BatchSpanProcessor,
  ParentBasedSampler,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace'
import type { Sampler, SpanExporter } from '@opentelemetry/sdk-trace'
import type { TracingConfig } from '../../config/tracing.ts'
import type { ClientSpan, NewSpan, ServerSpan, Span, SpanAttributes, Tracer } from '../../kernel/tracer.ts'
import type { Logger } from '../../log.ts'
import { version } from '../describe.ts'

/** The traces of this process. */
export type Tracing = {
  readonly tracer: Tracer
  /** Sends the spans that wait, within the time limit for sending. */
  close(): Promise<void>
}

/** Opens the export to the endpoint of the standard variables, which the exporter reads itself. */
export function openOtlpTracing(config: TracingConfig, log: Logger): Tracing {
  const { timeoutMs: timeoutMillis, delayMs: scheduledDelayMillis, maxWaiting: maxQueueSize } = config
  const exporter = withLog(new OTLPTraceExporter({ timeoutMillis }), log)
  const provider = new TracerProvider({
    sampler: SAMPLERS[config.sampler](config.ratio),
    resource: describeProcess(),
    spanProcessors: [new BatchSpanProcessor({ exporter, scheduledDelayMillis, maxQueueSize })],
  })
  return {
    tracer: makeTracer(provider.getTracer('svc', version)),
    async close() {
      const hasEnded = await Promise.race([
        provider.shutdown().then(() => true),
        sleep(timeoutMillis, false, { ref: false }),
      ])
      if (!hasEnded) log.warn({ waitedMs: timeoutMillis }, 'traces.not_sent')
    },
  }
}

const SAMPLERS: Readonly<Record<TracingConfig['sampler'], (ratio: number) => Sampler>> = {
  always_on: () => new AlwaysOnSampler(),
  always_off: () => new AlwaysOffSampler(),
  traceidratio: (ratio) => new TraceIdRatioBasedSampler(ratio),
  parentbased_always_on: () => new ParentBasedSampler({ root: new AlwaysOnSampler() }),
  parentbased_always_off: () => new ParentBasedSampler({ root: new AlwaysOffSampler() }),
  parentbased_traceidratio: (ratio) => new ParentBasedSampler({ root: new TraceIdRatioBasedSampler(ratio) }),
}

/** What the standard variables say of the service wins. */
function describeProcess() {
  const own = { 'service.name': 'svc', 'service.version': version, 'process.pid': process.pid }
  const given = detectResources({ detectors: [resourceAttributesEnvDetector, serviceNameEnvDetector] })
  return defaultResource().merge(resourceFromAttributes(own)).merge(given)
}

/** Logs when the endpoint stops taking spans, and when it takes them again. What it does not take is dropped. */
function withLog(exporter: SpanExporter, log: Logger): SpanExporter {
  let isDown = false
  return {
    export(spans, done) {
      exporter.export(spans, ({ code, error }) => {
        const hasFailed = code !== ExportResultCode.SUCCESS
        if (hasFailed && !isDown) log.warn({ reason: reasonOf(error) }, 'traces.disconnected')
        if (!hasFailed && isDown) log.info({}, 'traces.connected')
        isDown = hasFailed
        done({ code: ExportResultCode.SUCCESS })
      })
    },
    shutdown: () => exporter.shutdown(),
  }
}

/**
 * Why spans were not sent: an HTTP status, or the code of a failed connection, whose message names the address, which
 * may have a credential in it. Errors without a code are the exporter's own, such as that of a timeout, and name none.
 */
function reasonOf(error: (Error & { readonly code?: unknown }) | undefined): string {
  const { code, message = 'unknown' } = error ?? {}
  return typeof code === 'string' || typeof code === 'number' ? String(code) : message
}

const propagator = new W3CTraceContextPropagator()

function makeTracer(tracer: OtelTracer): Tracer {
  return {
    startServerSpan(span, headers: IncomingHttpHeaders): ServerSpan {
      const parent = propagator.extract(ROOT_CONTEXT, headers, defaultTextMapGetter)
      const { own, context } = start(tracer, span, SpanKind.SERVER, parent)
      return { ...toSpan(own), startClientSpan: (child) => startClientSpan(tracer, child, context) }
    },
  }
}

function startClientSpan(tracer: OtelTracer, span: NewSpan, parent: Context): ClientSpan {
  const { own, context } = start(tracer, span, SpanKind.CLIENT, parent)
  const headers: Record<string, string> = {}
  propagator.inject(context, headers, defaultTextMapSetter)
  return { ...toSpan(own), headers: Object.entries(headers).flat() }
}

function start(tracer: OtelTracer, { name, startedAt, attributes }: NewSpan, kind: SpanKind, parent: Context) {
  const options = { kind, attributes: toAttributes(attributes), ...(startedAt && { startTime: startedAt }) }
  const own = tracer.startSpan(name, options, parent)
  return { own, context: trace.setSpan(parent, own) }
}

function toSpan(span: OtelSpan): Span {
  return {
    set: (attributes) => void span.setAttributes(toAttributes(attributes)),
    fail(reason) {
      span.setAttribute('error.type', reason)
      span.setStatus({ code: SpanStatusCode.ERROR })
    },
    end: () => span.end(),
  }
}

function toAttributes(attributes: SpanAttributes): Attributes {
  const known: Attributes = {}
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== null) known[name] = typeof value === 'object' ? [...value] : value
  }
  return known
}
