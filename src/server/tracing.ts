import type { TracingConfig } from '../config/tracing.ts'
import type { Tracer } from '../kernel/tracer.ts'
import type { Logger } from '../log.ts'

/** The traces of this process. */
export type Tracing = {
  readonly tracer: Tracer
  /** Sends the spans that wait, within a few seconds. */
  close(): Promise<void>
}

/** Opens the export of traces; null where they are off. OpenTelemetry is loaded only here, and only when they are on. */
export async function openTracing(config: TracingConfig | null, log: Logger): Promise<Tracing | null> {
  if (!config) return null
  const { openOtlpTracing } = await import('./otlp-tracing.ts')
  return openOtlpTracing(config, log)
}
