import type { Clock } from '../../kernel/clock.ts'
import type { Logger } from '../../log.ts'
import type { Secret } from '../../kernel/secret.ts'
import { toUpstreamHeaders } from '../upstream/headers.ts'
import { sendWhole } from '../upstream/send.ts'
import { closeTarget, openTarget } from '../upstream/targets.ts'
import type { Target } from '../upstream/targets.ts'
import { toProbe } from './rules.ts'
import type { Probe } from './rules.ts'
import { openStyleProber } from './styles.ts'
import type { AskInStyle, StyleProber } from './styles.ts'

/** The local worker, or the place where none is configured. */
export type Engine = {
  /** Where calls go; null when no worker is configured. */
  readonly target: Target | null
  /** What every token limit is clamped to. */
  readonly maxTokens: number
  /** What is known now; asks anew in the background when that is old. Null: nothing is known yet. */
  glance(): Probe | null
  /** What is true now: not older than a second, and known in less than one. */
  look(): Promise<Probe>
  /** A call has failed: asks at once, in the background. */
  doubt(): void
  /** Which styles it speaks itself. */
  readonly styles: StyleProber
  close(): Promise<void>
}

type Settings = {
  readonly url: URL
  readonly apiKey: Secret | null
  readonly maxTokens: number
  readonly idleTimeoutMs: number
}

type Needs = {
  readonly engine: Settings | null
  readonly connectTimeoutMs: number
  readonly clock: Clock
  readonly log: Logger
}

/** How old the background's knowledge may be while somebody uses the gateway. */
const GLANCE_MS = 10_000

/** How old the knowledge of somebody who asks for it may be. */
const LOOK_MS = 1_000

/** Whoever asks for the state waits no longer than a second, so the question takes less. */
const PROBE_TIMEOUT_MS = 900

/** A server may load the model first. */
const STYLE_TIMEOUT_MS = 120_000

const LIST_MAX_BYTES = 4 * 1024 * 1024

/** Opens the worker; it is asked for its models when the gateway is used, never by a timer. */
export function openEngine({ engine, connectTimeoutMs, clock, log }: Needs): Engine {
  if (!engine) return NOT_CONFIGURED
  const url = withoutVersion(engine.url)
  const target = openTarget(
    'local-engine',
    { url, bearer: engine.apiKey, apiKey: null },
    { connectTimeoutMs, idleTimeoutMs: engine.idleTimeoutMs },
  )
  const styles = openStyleProber({
    ask: askInStyle(target),
    onFound: (style, speech) => log.info({ worker: target.name, style, ...speech }, 'worker.style_found'),
  })
  const prober = openProber(
    () => probe(target),
    clock,
    ({ kind }, before) => {
      if (before) styles.forget()
      log.info({ worker: target.name, found: kind }, 'worker.changed')
    },
  )
  return {
    target,
    maxTokens: engine.maxTokens,
    glance: () => prober.glance(GLANCE_MS),
    look: () => prober.look(LOOK_MS),
    doubt: () => prober.doubt(),
    styles,
    close: () => closeTarget(target),
  }
}

const NOT_CONFIGURED: Engine = {
  target: null,
  maxTokens: 0,
  glance: () => ({ kind: 'not_configured' }),
  look: async () => ({ kind: 'not_configured' }),
  doubt: () => {},
  styles: { speaks: () => null, forget: () => {} },
  close: async () => {},
}

/** One question at a time, however many ask. `ask` never rejects. */
function openProber(ask: () => Promise<Probe>, clock: Clock, onChange: (probe: Probe, before: Probe | null) => void) {
  let known: { readonly probe: Probe; readonly at: number } | null = null
  let asking: Promise<Probe> | null = null

  const isOlderThan = (ms: number): boolean => !known || Math.abs(clock.now().getTime() - known.at) > ms
  const refresh = (): Promise<Probe> => {
    asking ??= ask().then((probe) => {
      if (probe.kind !== known?.probe.kind) onChange(probe, known?.probe ?? null)
      known = { probe, at: clock.now().getTime() }
      asking = null
      return probe
    })
    return asking
  }

  return {
    glance(maxAgeMs: number): Probe | null {
      if (isOlderThan(maxAgeMs)) void refresh()
      return known?.probe ?? null
    },
    async look(maxAgeMs: number): Promise<Probe> {
      return known && !isOlderThan(maxAgeMs) ? known.probe : refresh()
    },
    doubt(): void {
      void refresh()
    },
  }
}

async function probe(target: Target): Promise<Probe> {
  const call = {
    method: 'GET',
    path: `${target.prefix}/v1/models`,
    headers: toUpstreamHeaders(PROBE_HEADERS, target),
    body: null,
  } as const
  const answer = await sendWhole(target, call, { timeoutMs: PROBE_TIMEOUT_MS, maxBytes: LIST_MAX_BYTES })
  if (answer.kind === 'answered') return toProbe(answer.status, answer.body.toString('utf8'))
  return { kind: answer.kind === 'failed' ? 'unhealthy' : 'unavailable' }
}

function askInStyle(target: Target): AskInStyle {
  return async (path, body) => {
    const call = {
      method: 'POST',
      path: target.prefix + path,
      headers: toUpstreamHeaders(QUESTION_HEADERS, target),
      body: Buffer.from(JSON.stringify(body)),
    } as const
    const answer = await sendWhole(target, call, { timeoutMs: STYLE_TIMEOUT_MS, maxBytes: LIST_MAX_BYTES })
    return answer.kind === 'answered' ? { status: answer.status, body: answer.body.toString('utf8') } : null
  }
}

const QUESTION_HEADERS = [
  ...['accept', 'application/json', 'content-type', 'application/json'],
  ...['anthropic-version', '2023-06-01'],
  ...['connection', 'close'],
]

const PROBE_HEADERS = ['accept', 'application/json']

/** Operators give the server's address with `/v1` or without it, as its own documentation does. */
function withoutVersion(url: URL): URL {
  const bare = new URL(url)
  bare.pathname = bare.pathname.replace(/\/v1\/*$/, '/')
  return bare
}
