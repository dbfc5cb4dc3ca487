/**
 * The models that a body names beside `model`. A backend that routes calls itself would use them without asking, and
 * so would some vendors. They pass the same policy as `model`.
 */
import type { SnapshotModel } from '../../../directory/rules.ts'
import { ApiError } from '../../../http/errors.ts'
import type { Caller } from '../../../kernel/caller.ts'
import { isObject } from '../../../kernel/json.ts'
import { isGiven, readObject, readText } from '../../dialects/json/read-json.ts'
import type { Json } from '../../dialects/json/read-json.ts'
import { explainRefusal, pickModel } from '../../models/rules.ts'
import type { ModelTeam } from '../../models/rules.ts'
import type { Placement } from '../../plan/candidate.ts'
import { findNestedModels, spellingsOf } from './nested-models.ts'
import type { NamedModel } from './nested-models.ts'

/** Lists of models, as names or as objects with a `model` (OpenRouter, LiteLLM; Anthropic's server-side fallback). */
const LISTS = ['models', 'fallbacks', 'fallback_models'] as const

/** These choose models or servers in ways that name no model of this service (OpenRouter, LiteLLM). */
const REFUSED = [
  'route',
  'preset',
  'engine',
  'deployment_id',
  'model_list',
  'context_window_fallbacks',
  'context_window_fallback_dict',
  'content_policy_fallbacks',
  'router_settings_override',
  'user_config',
  'custom_llm_provider',
  'api_base',
  'base_url',
] as const

/** The plugins of OpenRouter that neither run a model nor choose one. */
const PLUGINS: ReadonlySet<string> = new Set([
  'web',
  'web-fetch',
  'file-parser',
  'response-healing',
  'context-compression',
  'moderation',
])

/** Two readers of a body must not disagree about these members. */
export const ROUTING_MEMBERS: readonly string[] = [...LISTS, ...REFUSED, 'extra_body', 'plugins']

/** What the models beside `model` are judged by. */
type Call = {
  readonly caller: Pick<Caller, 'key'>
  readonly team: ModelTeam
  /** The model of the call. */
  readonly model: SnapshotModel
  /** The backends that have a model, and its name at each. */
  readonly placementsOf: (model: SnapshotModel) => readonly Placement[]
}

/**
 * What is wrong with the models that a body names beside `model`; null: the team may call each of them, and each
 * backend of the call has them under the names that the body gives.
 */
export function judgeAlternatives(call: Call, body: Json): ApiError | null {
  const refused = findRefusedMember(body)
  if (refused !== null) return refuseMember(refused)
  for (const { path, name } of [...findListedModels(body), ...findNestedModels(body)]) {
    const refusal = name === null ? refuseMember(path) : judgeNamed(call, path, name)
    if (refusal) return refusal
  }
  return null
}

/** The path of the first member that cannot be judged, because it names no model of this service; null: none does. */
function findRefusedMember(body: Json): string | null {
  const name = REFUSED.find((refused) => isGiven(body[refused]))
  if (name !== undefined) return name
  return isGiven(body.extra_body) && !hasOnlyGemini(body.extra_body) ? 'extra_body' : findPlugin(body)
}

/** The path of the first plugin that may run or choose another model; null: there is none. */
function findPlugin({ plugins }: Json): string | null {
  if (!isGiven(plugins)) return null
  if (!Array.isArray(plugins)) return 'plugins'
  const at = plugins.findIndex((plugin) => !PLUGINS.has(readText(readObject(plugin).id)))
  return at === -1 ? null : `plugins.${at}`
}

/** Google's chat completions take options of Gemini in `extra_body.google`. None of them chooses a model. */
function hasOnlyGemini(extra: unknown): boolean {
  return isObject(extra) && Object.keys(extra).every((name) => name === 'google')
}

/** The models in the lists of a body. */
function findListedModels(body: Json): readonly NamedModel[] {
  return LISTS.flatMap((member): NamedModel[] => {
    const list = body[member]
    if (!isGiven(list)) return []
    // Anthropic's `"default"` leaves the choice to the vendor.
    if (!Array.isArray(list)) return [{ path: member, name: null }]
    return list.flatMap((entry: unknown, at) => modelsIn(entry).map((name) => ({ path: `${member}.${at}`, name })))
  })
}

/** At least one value, because an entry must name a model. Never null, which is any model in `NamedModel`. */
function modelsIn(entry: unknown): unknown[] {
  if (!isObject(entry)) return [entry ?? undefined]
  const names = spellingsOf('model', entry)
  return names.length > 0 ? names.map((name) => entry[name] ?? undefined) : [undefined]
}

function judgeNamed(call: Call, param: string, name: unknown): ApiError | null {
  if (typeof name !== 'string') return new ApiError('invalid_request', { message: `${param} must name a model.` })
  const named = pickModel(call.team, name)
  if (!named) {
    return new ApiError('model_not_allowed', { message: `${param}: ${explainRefusal(call.caller, call.team, name)}` })
  }
  const there = call.placementsOf(named)
  const isKnown = ({ backend }: Placement) => there.some((at) => at.backend === backend && at.model === name)
  if (call.placementsOf(call.model).every(isKnown)) return null
  // The name reaches the backend as it is, where it could mean another model.
  return new ApiError('invalid_request', {
    message: `${param}: a backend of this call does not know the model under this name. Use it as "model" instead.`,
  })
}

function refuseMember(name: string): ApiError {
  return new ApiError('invalid_request', {
    message: `${JSON.stringify(name)} lets the backend choose another model. Leave it out and set "model".`,
  })
}
