/** Models and lists of them, in the format of each kind of client. */
import { isCallable } from '../../directory/rules.ts'
import { toCapabilities } from './capabilities.ts'
import { toCodexModel } from './codex.ts'
import type { ModelEntry } from './rules.ts'

/** Vendor A's list with the members of vendor B's, because clients of both read it. */
export function toModelList(entries: readonly ModelEntry[]) {
  return { object: 'list' as const, ...toOnePage(entries.map(toListedModel)) }
}

/** Writes vendor A's list, and also `models`, the only member that Codex decodes. */
export function toCodexModelList(entries: readonly ModelEntry[]) {
  return {
    object: 'list' as const,
    data: entries.map(toListedModel),
    models: entries.filter(({ model }) => isCallable(model)).map(toCodexModel),
  }
}

/** Writes the list in vendor B's format. It always has one page. */
export function toMessagesModelList(entries: readonly ModelEntry[]) {
  return toOnePage(entries.map(toMessagesModel))
}

/** The members of vendor B's lists. A list is never split into pages. */
function toOnePage<Model extends { readonly id: string }>(data: Model[]) {
  return { data, has_more: false, first_id: data.at(0)?.id ?? null, last_id: data.at(-1)?.id ?? null }
}

/** A model in vendor B's format. */
export function toMessagesModel(entry: ModelEntry) {
  const { aliases, aliasOf } = namesOf(entry)
  return { ...toVendorB(entry), capabilities: toCapabilities(entry.model.caps), aliases, alias_of: aliasOf }
}

/** The token limits are null where the directory does not have them. */
function toVendorB({ name, model: { displayName, contextWindow, caps, createdAt } }: ModelEntry) {
  return {
    id: name,
    type: 'model' as const,
    display_name: displayName,
    created_at: createdAt.toISOString(),
    max_input_tokens: contextWindow,
    max_tokens: caps.maxOutput ?? null,
  }
}

/** An alias is listed with its model's id, and a model with its aliases. */
function namesOf({ name, model: { id, aliases } }: ModelEntry) {
  return name === id ? { aliases: [...aliases], aliasOf: null } : { aliases: [], aliasOf: id }
}

/** A model in vendor A's format, with the members of vendor B's. */
export function toListedModel(entry: ModelEntry) {
  const { owner, displayName, certified, published, verificationState, createdAt } = entry.model
  return {
    ...toVendorB(entry),
    object: 'model' as const,
    created: Math.floor(createdAt.getTime() / 1000),
    owned_by: owner,
    metadata: { displayName, certified, published, verificationState, ...namesOf(entry) },
  }
}
