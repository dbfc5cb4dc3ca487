/**
 * The standard variables of OpenTelemetry that switch traces on and shape them. The exporter reads the others, and
 * ignores their mistakes silently, so they are checked here.
 */
import { readTextFile } from './text-file.ts'

/** The longest time of a timer. Node's timers fire at once for a longer one. */
const MAX_TIMER_MS = 2 ** 31 - 1

/** Where and how much is traced. */
export type TracingConfig = {
  readonly sampler: Sampler
  /** The share of traces, from 0 to 1, for a sampler by ratio. */
  readonly ratio: number
  /** The longest time for sending spans, with retries. A stop waits for that long. */
  readonly timeoutMs: number
  /** How long spans wait to be sent together. */
  readonly delayMs: number
  /** Spans that wait while they cannot be sent; further ones are dropped. */
  readonly maxWaiting: number
}

export type Sampler = (typeof SAMPLERS)[number]

const SAMPLERS = [
  'always_on',
  'always_off',
  'traceidratio',
  'parentbased_always_on',
  'parentbased_always_off',
  'parentbased_traceidratio',
] as const

type Environment = Readonly<Record<string, string | undefined>>

/**
 * Reads the settings of traces; null: traces are off, which they are without an endpoint. The mistakes start with the
 * name of their variable.
 */
export function readTracing(env: Environment): {
  readonly tracing: TracingConfig | null
  readonly mistakes: readonly string[]
} {
  if (!isOn(env)) return { tracing: null, mistakes: [] }
  const sampler = env['OTEL_TRACES_SAMPLER'] || 'parentbased_always_on'
  const known = SAMPLERS.find((one) => one === sampler)
  const ratio = toNumber(env['OTEL_TRACES_SAMPLER_ARG'], 1)
  const timeoutName = TIMEOUTS.find((name) => env[name]) ?? 'OTEL_EXPORTER_OTLP_TIMEOUT'
  const timeoutMs = toNumber(env[timeoutName], 3000)
  const delayMs = toNumber(env['OTEL_BSP_SCHEDULE_DELAY'], 5000)
  const maxWaiting = toNumber(env['OTEL_BSP_MAX_QUEUE_SIZE'], 2048)
  const mistakes = [
    ...ENDPOINTS.map((name) => !isEndpoint(env[name]) && `${name}: must be an http:// or https:// URL`),
    ...PROTOCOLS.map((name) => !isProtocol(env[name]) && `${name}: must be http/protobuf`),
    !known && `OTEL_TRACES_SAMPLER: must be one of ${SAMPLERS.join(', ')}`,
    !(ratio >= 0 && ratio <= 1) && 'OTEL_TRACES_SAMPLER_ARG: must be a number from 0 to 1',
    !(timeoutMs >= 1 && timeoutMs <= MAX_TIMER_MS) && `${timeoutName}: must be milliseconds from 1 to ${MAX_TIMER_MS}`,
    !(delayMs >= 0 && delayMs <= MAX_TIMER_MS) &&
      `OTEL_BSP_SCHEDULE_DELAY: must be milliseconds from 0 to ${MAX_TIMER_MS}`,
    !(maxWaiting >= 1) && 'OTEL_BSP_MAX_QUEUE_SIZE: must be a number of at least 1',
    ...COMPRESSIONS.map((name) => !isCompression(env[name]) && `${name}: must be gzip or none`),
    ...HEADERS.map((name) => !hasPairs(env[name], HEADER) && `${name}: ${PAIRS_EXPECTED}`),
    !hasPairs(env[ATTRIBUTES], ATTRIBUTE) && `${ATTRIBUTES}: ${PAIRS_EXPECTED}`,
    ...TRACING_FILES.map((name) => findUnreadable(name, env[name])),
  ].filter((mistake) => mistake !== false)
  return { tracing: { sampler: known ?? 'always_off', ratio, timeoutMs, delayMs, maxWaiting }, mistakes }
}

const ENDPOINTS = ['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', 'OTEL_EXPORTER_OTLP_ENDPOINT'] as const
const TIMEOUTS = ['OTEL_EXPORTER_OTLP_TRACES_TIMEOUT', 'OTEL_EXPORTER_OTLP_TIMEOUT'] as const
const PROTOCOLS = ['OTEL_EXPORTER_OTLP_TRACES_PROTOCOL', 'OTEL_EXPORTER_OTLP_PROTOCOL'] as const

const COMPRESSIONS = namesOf('COMPRESSION')
const HEADERS = namesOf('HEADERS')
/** The variables that name files. */
export const TRACING_FILES: readonly string[] = ['CERTIFICATE', 'CLIENT_CERTIFICATE', 'CLIENT_KEY'].flatMap(namesOf)
const ATTRIBUTES = 'OTEL_RESOURCE_ATTRIBUTES'

/** What the exporter and its resource read as a pair. The value of a header may have a `=`, as base64 has. */
const HEADER = /^[^=]+=(?:[^%]|%[\da-f]{2})+$/i
const ATTRIBUTE = /^[^=]+=(?:[^%=]|%[\da-f]{2})*$/i
const PAIRS_EXPECTED = 'must be NAME=VALUE pairs, separated by commas; special characters are percent-encoded'

/** The names of a variable of the exporter: for traces, and for everything that is exported. */
function namesOf(part: string): string[] {
  return [`OTEL_EXPORTER_OTLP_TRACES_${part}`, `OTEL_EXPORTER_OTLP_${part}`]
}

function isOn(env: Environment): boolean {
  const isDisabled = env['OTEL_SDK_DISABLED']?.toLowerCase() === 'true' || env['OTEL_TRACES_EXPORTER'] === 'none'
  return !isDisabled && ENDPOINTS.some((name) => Boolean(env[name]))
}

function isEndpoint(value: string | undefined): boolean {
  return !value || (URL.canParse(value) && /^https?:$/.test(new URL(value).protocol))
}

function isProtocol(value: string | undefined): boolean {
  return !value || value === 'http/protobuf'
}

function isCompression(value: string | undefined): boolean {
  return !value?.trim() || ['gzip', 'none'].includes(value.trim())
}

function hasPairs(list: string | undefined, pair: RegExp): boolean {
  const pairs = (list ?? '').split(',').map((one) => one.trim())
  return pairs.every((one) => one === '' || pair.test(one))
}

function findUnreadable(name: string, file: string | undefined): string | false {
  const read = file?.trim() ? readTextFile(file) : null
  return read !== null && 'problem' in read && `${name}: the file ${file} ${read.problem}`
}

function toNumber(value: string | undefined, unset: number): number {
  return value ? Number(value) : unset
}
