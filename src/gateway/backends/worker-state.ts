/**
 * The state of the local worker, judged from its last list of models. The state itself is not stored, so it cannot
 * differ from that list.
 */
import { isObject, parseJson } from '../../kernel/json.ts'
import { readObject, readTexts } from '../dialects/json/read-json.ts'

/** The state of one model on a backend. */
export type ModelState = 'unavailable' | 'unhealthy' | 'model_missing' | 'ready'

/** The state of the worker in the contract. */
export type WorkerState = ModelState | 'not_configured'

/**
 * The result of a request for the list of models. `unavailable`: no server or no answer. `unhealthy`: an answer that is
 * no list of models. `listed`: the models of the server.
 */
export type ProbeResult =
  | { readonly kind: 'unavailable' }
  | { readonly kind: 'unhealthy' }
  | { readonly kind: 'listed'; readonly models: readonly string[] }

/** Judges the state of one model on the worker. */
export function judgeModel(found: ProbeResult, model: string): ModelState {
  if (found.kind !== 'listed') return found.kind
  return hasModel(found.models, model) ? 'ready' : 'model_missing'
}

/** Judges the state of the worker as a whole: it is `model_missing` when one of these models is missing. */
export function judgeWorker(found: ProbeResult, models: readonly string[]): ModelState {
  if (found.kind !== 'listed') return found.kind
  return models.every((model) => hasModel(found.models, model)) ? 'ready' : 'model_missing'
}

/**
 * Reads the answer to a request for the list of models. The answer's shape decides, because some servers answer 200 on
 * every path. `data` is null where Ollama has no models.
 */
export function readModelList(status: number, body: string): ProbeResult {
  const { data } = readObject(status === 200 && parseJson(body))
  if (data === null) return { kind: 'listed', models: [] }
  if (!Array.isArray(data) || !data.every(hasId)) return { kind: 'unhealthy' }
  return { kind: 'listed', models: [...new Set(data.flatMap(namesOf))] }
}

/** Ollama lists `qwen3` as `qwen3:latest` and answers to both names. */
function hasModel(listed: readonly string[], model: string): boolean {
  return listed.includes(model) || listed.includes(`${model}:latest`)
}

/** llama.cpp lists the other names of a model in `aliases`. */
function namesOf({ id, aliases }: { id: string; aliases?: unknown }): string[] {
  return [id, ...readTexts(aliases)]
}

function hasId(entry: unknown): entry is { id: string } {
  return isObject(entry) && typeof entry.id === 'string'
}
