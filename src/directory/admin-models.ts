/**
 * Models that the admins of a team add. At the operator's backends, such a model can have only the names that models of
 * the directory file give the team there, so an admin reaches nothing new. At the backends that admins of the same
 * team have added (admin-backends.ts) it can have any name.
 *
 * Only the team sees its names. Where the file has the same name, the file wins. All of this is decided when the
 * directory is loaded, so that a change of the file takes effect on these models too.
 */
import { teamOfBackend } from '../kernel/backend-name.ts'
import { writeShortList } from '../kernel/formats/short-list.ts'
import { prefixOfTeam } from '../kernel/team-name.ts'
import { isTaken } from './aliases.ts'
import type { NameTable } from './aliases.ts'
import { adminServe, caps } from './backends.ts'
import type { GivenCaps, ServeEntry } from './backends.ts'
import { alias, flag, list, object, orNull, text, tokens } from './fields.ts'
import { invalid, readSettings, taken } from './mistakes.ts'
import type { AdminMistake } from './mistakes.ts'
import { capsAt, isCallable } from './rules.ts'
import type { SnapshotModel } from './rules.ts'
import { serveEntriesOf } from './serve-entries.ts'

/** What an admin says of a model. */
export type AdminModelSettings = {
  readonly displayName: string
  readonly aliases: readonly string[]
  readonly serve: readonly ServeEntry[]
  /** Null: as the model of the file that its first backend serves. */
  readonly contextWindow: number | null
  readonly caps: GivenCaps
  readonly published: boolean
}

export type AdminModel = AdminModelSettings & { readonly id: string; readonly createdAt: Date }

/** The maximum number of models that the admins of one team may add. */
export const MAX_ADMIN_MODELS = 100

// ---- Reading --------------------------------------------------------------------------------------------------------

const shown = text.refine((value) => !/\p{C}/u.test(value), 'must have visible characters only')

/** The fields of a model that an admin adds, but for its id. */
export const adminModelFields = {
  displayName: shown,
  aliases: list(alias).max(20, 'must have at most 20 names').default([]),
  serve: adminServe.refine((entries) => entries.length > 0, 'must name at least one backend'),
  contextWindow: orNull(tokens),
  caps,
  published: flag,
}

const settings = object(adminModelFields)

/** Reads what an admin says of a model. */
export function readAdminModel(given: unknown): { settings: AdminModelSettings } | AdminMistake {
  return readSettings(settings, given)
}

// ---- Deciding -------------------------------------------------------------------------------------------------------

/** What the models of a team's admins can be made of. */
export type AdminModelSources = {
  /** The names of all models of the directory file. */
  readonly names: NameTable
  /** The models of the file that the team may use. */
  readonly fileModels: readonly SnapshotModel[]
  /** The names of the backends that admins of the team have added. */
  readonly ownBackends: readonly string[]
}

/** What a new model of a team is judged by. */
export type AdminModelContext = AdminModelSources & {
  /** `@organization/team`. */
  readonly team: string
  /** The other models that admins of the team have added. */
  readonly others: readonly Pick<AdminModel, 'id' | 'aliases'>[]
}

/** What follows the name of the team in an id. */
const OWN_NAME = /^[A-Za-z0-9][\w.:@+-]{0,63}$/

/** What is wrong with a model that an admin adds or replaces; null: nothing. */
export function judgeAdminModel(
  id: string,
  wanted: AdminModelSettings,
  context: AdminModelContext,
): AdminMistake | null {
  const { team, names, fileModels, ownBackends, others } = context
  const prefix = prefixOfTeam(team)
  if (fileModels.some((model) => model.id === id)) return refuseListed(id)
  if (!id.startsWith(prefix) || !OWN_NAME.test(id.slice(prefix.length)))
    return invalid(
      ['id'],
      'must have 1 to 64 letters, digits, ".", "_", ":", "@", "+" and "-" after the name of the team, the first one ' +
        'a letter or a digit.',
      `An example is ${prefix}writer.`,
    )
  if (others.length >= MAX_ADMIN_MODELS)
    return taken([], `The team has ${MAX_ADMIN_MODELS} models of its own already. Delete one first.`)
  return judgeNames(id, wanted.aliases, names, others) ?? judgeServe(wanted.serve, fileModels, ownBackends)
}

function judgeNames(
  id: string,
  aliases: readonly string[],
  names: NameTable,
  others: AdminModelContext['others'],
): AdminMistake | null {
  const wanted = [id, ...aliases]
  const fieldOf = (name: string) => [name === id ? 'id' : 'aliases']
  if (new Set(wanted).size < wanted.length) return invalid(['aliases'], 'a name is listed twice.')
  const own = new Map(others.flatMap((other) => [other.id, ...other.aliases].map((name) => [name, other.id])))
  const used = wanted.find((name) => own.has(name))
  if (used !== undefined) return taken(fieldOf(used), `"${used}" is a name of the model ${own.get(used)}.`)
  const ofFile = wanted.find((name) => isTaken(names, name))
  if (ofFile === undefined) return null
  return taken(fieldOf(ofFile), `the directory file uses the name "${ofFile}". Choose another one.`)
}

function judgeServe(
  entries: readonly ServeEntry[],
  fileModels: readonly SnapshotModel[],
  ownBackends: readonly string[],
): AdminMistake | null {
  if (entries[0]?.when === 'offline')
    return invalid(['serve', 0, 'when'], 'must be always for the backend that is asked first.')
  if (entries.some(({ price }) => price !== undefined))
    return invalid(['serve'], 'must have no price. Prices come from the directory file and the price file.')
  const foreign = entries.find((entry) => !ownBackends.includes(entry.backend) && !findSource(fileModels, entry))
  if (!foreign) return null
  const { backend, model, when } = foreign
  const how = when === 'always' ? '' : ' while offline'
  if (teamOfBackend(backend) !== null)
    return invalid(
      ['serve'],
      `the admins of the team have added no backend ${backend}.`,
      'svc backends and GET /v1/teams/{team}/backends list them.',
    )
  const added = ownBackends.find((own) => own.endsWith(`/${backend}`))
  return invalid(
    ['serve'],
    `no model that the directory file gives the team is served by ${backend} as "${model}"${how}.`,
    added
      ? `The backend that an admin has added is named ${added}.`
      : `The file gives it ${writeSources(fileModels, backend) || 'none'}. svc backends lists what admins have added.`,
  )
}

/** The most backends and models that a refusal names. */
const MAX_NAMED = 10

/** What admins can serve models by at a backend of the file, or at any of them where it serves none: `one=writer-2`. */
function writeSources(fileModels: readonly SnapshotModel[], backend: string): string {
  const entries = fileModels.filter(isCallable).flatMap(serveEntriesOf)
  const there = entries.filter((entry) => entry.backend === backend)
  const named = (there.length > 0 ? there : entries).map((entry) => `${entry.backend}=${entry.model}`)
  return writeShortList([...new Set(named)], MAX_NAMED)
}

/** Why an admin cannot change a model of the directory file. */
export function refuseListed(id: string): AdminMistake {
  return taken([], `The directory file lists the model ${id}. Change it there and reload the service.`)
}

// ---- Loading --------------------------------------------------------------------------------------------------------

/** A model of the file, and the entry by which a backend serves it. */
type Source = { readonly model: SnapshotModel; readonly listed: ServeEntry }

/** The model of the file that gives a team the right to a backend; null: there is none. */
function findSource(
  fileModels: readonly SnapshotModel[],
  { backend, model, when }: Pick<ServeEntry, 'backend' | 'model' | 'when'>,
): Source | null {
  for (const source of fileModels) {
    if (!isCallable(source)) continue
    const listed = serveEntriesOf(source).find((one) => one.backend === backend && one.model === model)
    // An entry that is `offline` in the file may only be `offline` here.
    if (listed && (listed.when === 'always' || when === 'offline')) return { model: source, listed }
  }
  return null
}

/**
 * The model as the gateway serves it, with what the team may still use of its backends, and the prices of the file;
 * null when nothing is left, or when the file has a model of its id. Each `caps` of an admin overrides the file's. The
 * file says nothing of backends of admins, so there the model can be asked what it can be asked at its first backend.
 */
export function resolveAdminModel(
  model: AdminModel,
  { fileModels, ownBackends, names }: AdminModelSources,
): SnapshotModel | null {
  if (isTaken(names, model.id)) return null
  const found = model.serve.flatMap((entry): readonly Found[] => {
    if (ownBackends.includes(entry.backend)) return [{ entry, from: null }]
    const from = findSource(fileModels, entry)
    return from ? [{ entry, from }] : []
  })
  const [first] = found
  if (!first) return null
  const { owner, contextWindow, verificationState } = first.from?.model ?? ownDefaults(model.id)
  return {
    ...model,
    aliases: model.aliases.filter((name) => !isTaken(names, name)),
    owner,
    backendModel: null,
    upstreamModel: null,
    serve: found.map(({ entry, from }) => ({
      ...entry,
      ...(from && toPriced(from)),
      caps: { ...capsFrom(from ?? first.from), ...model.caps, ...entry.caps },
    })),
    contextWindow: model.contextWindow ?? contextWindow,
    caps: { ...capsFrom(first.from), ...model.caps },
    price: null,
    certified: true,
    verificationState,
  }
}

/** A backend that may still serve a model; `from`: null for one that an admin has added. */
type Found = { readonly entry: ServeEntry; readonly from: Source | null }

/** What the file says that a model can be asked at a backend. */
function capsFrom(source: Source | null): GivenCaps {
  return source ? capsAt(source.model, source.listed) : {}
}

/** What the file says of the price at a backend. */
function toPriced({ model: { id, owner, price: ofModel }, listed }: Source): Pick<ServeEntry, 'price' | 'pricedAs'> {
  const price = listed.price ?? ofModel
  return { ...(price && { price }), pricedAs: { id, owner } }
}

/** The facts of a model whose first backend is one of an admin, because the file says nothing of such a model. */
function ownDefaults(id: string): Pick<SnapshotModel, 'owner' | 'contextWindow' | 'verificationState'> {
  const [organization = ''] = id.split('/')
  return { owner: organization, contextWindow: null, verificationState: 'unverified' }
}
