import { TOKEN_LIMITS } from '../dialects/dialects.ts'

/**
 * The local worker: an inference server on this machine or beside it. Its state is judged from one question, its list of models, and
 * never stored as a word, so it cannot be older than the last answer.
 */

export type WorkerState = 'not_configured' | 'unavailable' | 'unhealthy' | 'model_missing' | 'ready'

/** What the last question found: no server there, no answer, an answer of another kind, or the models that the server has. */
export type Probe =
  | { readonly kind: 'not_configured' }
  | { readonly kind: 'unavailable' }
  | { readonly kind: 'unhealthy' }
  | { readonly kind: 'listed'; readonly models: readonly string[] }

/** The state of one model on the worker. */
export function judgeModel(probe: Probe, backendModel: string): WorkerState {
  if (probe.kind !== 'listed') return probe.kind
  return has(probe.models, backendModel) ? 'ready' : 'model_missing'
}

/** The state of the worker for these models: a single one that is missing counts. */
export function judgeWorker(probe: Probe, backendModels: readonly string[]): WorkerState {
  if (probe.kind !== 'listed') return probe.kind
  return backendModels.every((model) => has(probe.models, model)) ? 'ready' : 'model_missing'
}

/**
 * Reads an answer to the question for the list of models. Its shape counts and its status does not suffice: some servers answer 200 to every path.
 * Null as `data` is an empty list, as Ollama has it.
 */
export function toProbe(status: number, body: string): Probe {
  const data = status === 200 ? dataOf(body) : undefined
  if (data === null) return { kind: 'listed', models: [] }
  if (!Array.isArray(data) || !data.every(hasId)) return { kind: 'unhealthy' }
  return { kind: 'listed', models: [...new Set(data.flatMap(namesOf))] }
}

export const WORKER_ID = 'local-engine' as const

type NamedModel = { readonly id: string; readonly backendModel: string | null }

/** The worker as a caller sees it, with the models of these that it serves. */
export function toWorker(probe: Probe, models: readonly NamedModel[]) {
  const served = models.flatMap(({ id, backendModel }) => (backendModel === null ? [] : [{ id, backendModel }]))
  return {
    id: WORKER_ID,
    mode: 'airplane' as const,
    kind: 'local' as const,
    protocol: 'vendora-compatible' as const,
    state: judgeWorker(
      probe,
      served.map(({ backendModel }) => backendModel),
    ),
    models: served.map((model) => ({ ...model, state: judgeModel(probe, model.backendModel) })),
    capabilities: ['chat', 'code', 'streaming', 'tools'] as ('chat' | 'code' | 'streaming' | 'tools')[],
  }
}

export type TokenLimits = Readonly<Record<string, number>>

/**
 * The limits of a request that are too high, lowered; engines read a negative one as no limit. One that is absent stays absent: the
 * server's own default then counts.
 */
export function clampTokens(body: Readonly<Record<string, unknown>>, maxTokens: number): TokenLimits {
  const tooHigh = TOKEN_LIMITS.filter((name) => {
    const limit = body[name]
    return typeof limit === 'number' && (limit > maxTokens || limit < 0)
  })
  return Object.fromEntries(tooHigh.map((name) => [name, maxTokens]))
}

/** Ollama lists `qwen3` as `qwen3:latest` and answers to both. */
function has(listed: readonly string[], backendModel: string): boolean {
  return listed.includes(backendModel) || listed.includes(`${backendModel}:latest`)
}

/** llama.cpp lists the other names of a model in `aliases`. */
function namesOf({ id, aliases }: { id: string; aliases?: unknown }): string[] {
  const others: unknown[] = Array.isArray(aliases) ? aliases : []
  return [id, ...others.filter((name) => typeof name === 'string')]
}

function dataOf(body: string): unknown {
  try {
    const parsed: unknown = JSON.parse(body)
    return typeof parsed === 'object' && parsed !== null && 'data' in parsed ? parsed.data : undefined
  } catch {
    return undefined
  }
}

function hasId(entry: unknown): entry is { id: string } {
  return typeof entry === 'object' && entry !== null && 'id' in entry && typeof entry.id === 'string'
}
