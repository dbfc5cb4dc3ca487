import type { TracingConfig } from '../../config/tracing.ts'
import type { Logger } from '../../log.ts'
import type { Tracing } from './otlp-tracing.ts'

/**
 * Opens the export of traces; null where they are off. OpenTelemetry is loaded only here, and only where they are on.
 */
export async function openTracing(config: TracingConfig | null, log: Logger): Promise<Tracing | null> {
  if (!config) return null
  const { openOtlpTracing } = await import('./otlp-tracing.ts')
  return openOtlpTracing(config, log)
}
