/**
 * The directory file lists organizations, teams, members, models and backends. People write it as YAML, so reading it
 * finds every mistake with its line and field. A file with a mistake gives no directory.
 */
import { z } from 'zod'
import type { Role } from '../kernel/caller.ts'
import type { ReadSecret } from '../kernel/credentials/secret-source.ts'
import { toEmail } from '../kernel/email.ts'
import { judgeAliases } from './aliases.ts'
import { judgeBackends } from './backend-checks.ts'
import { backend, caps, serve } from './backends.ts'
import type { DirectoryBackend, GivenCaps, ServeEntry, SnapshotEntry } from './backends.ts'
import {
  alias,
  email,
  flag,
  list,
  modelId,
  name,
  object,
  orNull,
  revision,
  role,
  text,
  timeZone,
  tokens,
} from './fields.ts'
import { findRepeated } from './mistakes.ts'
import type { Mistake, Path } from './mistakes.ts'
import { price } from './prices.ts'
import type { GivenPrice } from './prices.ts'
import { readYamlText } from './yaml-text.ts'

export type Directory = {
  /** Grows with each change of the file; null when the file has none. */
  readonly revision?: number | null | undefined
  readonly organizations: readonly { readonly name: string; readonly teams: readonly DirectoryTeam[] }[]
  readonly models: readonly DirectoryModel[]
  readonly backends: readonly DirectoryBackend[]
}

export type DirectoryTeam = {
  readonly name: string
  readonly defaultModel: string | null
  /** The zone in which the periods of its spending limits begin. */
  readonly timeZone: string
  /** Ids of the models that the team may use. */
  readonly models: readonly string[]
  readonly members: readonly { readonly email: string; readonly role: Role }[]
}

export type DirectoryModel = {
  readonly id: string
  readonly displayName: string
  readonly owner: string
  /** Further names. One that ends in `*` is a prefix of names. */
  readonly aliases: readonly string[]
  /** Its name at the local worker; null when the worker does not serve it. */
  readonly backendModel: string | null
  /** Its name at the upstream; null when that is the id. */
  readonly upstreamModel: string | null
  /** The backends that serve it, in the order of preference; empty: the worker and the upstream of the route group. */
  readonly serve: readonly ServeEntry[]
  /** How many tokens it can read and write together; null when that is not known. */
  readonly contextWindow: number | null
  /** What it can be asked, and what lists of models say of it. An entry of `serve` may differ. */
  readonly caps: GivenCaps
  /** Null: the price file's, by the model's name. */
  readonly price: GivenPrice | null
  readonly certified: boolean
  readonly published: boolean
  readonly verificationState: string
}

/** A model as callers see it. */
export type SnapshotModel = Omit<DirectoryModel, 'serve'> & {
  readonly serve: readonly SnapshotEntry[]
  readonly createdAt: Date
}

/** Converts a model of the directory file to what callers see of it. */
export function toSnapshotModel(model: DirectoryModel, createdAt: Date): SnapshotModel {
  return { ...model, serve: model.serve.map((entry) => ({ ...entry, caps: capsAt(model, entry) })), createdAt }
}

/** What a model can be asked at a backend: each of the entry's `caps` overrides the model's. */
export function capsAt({ caps }: Pick<DirectoryModel, 'caps'>, entry: Pick<ServeEntry, 'caps'>): GivenCaps {
  return { ...caps, ...entry.caps }
}

/** Whether a team that has the model may call it. */
export function isCallable({ published, certified }: Pick<DirectoryModel, 'published' | 'certified'>): boolean {
  return published && certified
}

/**
 * Reads a directory file. A mistake is one line of text: `line 12, organizations[0].name: ...`. With `readSecret`, a
 * credential that cannot be read is a mistake too.
 */
export function readDirectoryFile(
  text: string,
  readSecret: ReadSecret | null = null,
): { directory: Directory } | { mistakes: string[] } {
  const read = readYamlText(text, fileSchema, (content) => findContradictions(content, readSecret))
  return 'value' in read ? { directory: read.value } : read
}

const member = object({ email, role })
const team = object({
  name,
  defaultModel: orNull(text),
  timeZone,
  models: list(text).default([]),
  members: list(member).default([]),
})
const model = object({
  id: modelId,
  displayName: text,
  owner: text,
  aliases: list(alias).default([]),
  backendModel: orNull(text),
  upstreamModel: orNull(text),
  serve,
  contextWindow: orNull(tokens),
  caps,
  price: orNull(price),
  certified: flag,
  published: flag,
  verificationState: text.default('trusted'),
})
const fileSchema = object({
  revision,
  organizations: list(object({ name, teams: list(team).default([]) })),
  models: list(model).default([]),
  backends: list(backend).default([]),
})

// ---- Contradictions between fields ---------------------------------------------------------------------------------

/** The names in the file, read without regard to its other mistakes. */
const word = z.string().catch('')
const outlineSchema = z
  .object({
    organizations: outlineList(
      z
        .object({
          name: word,
          teams: outlineList(
            z
              .object({
                name: word,
                defaultModel: word,
                models: outlineList(word),
                members: outlineList(z.object({ email: word }).catch({ email: '' })),
              })
              .catch({ name: '', defaultModel: '', models: [], members: [] }),
          ),
        })
        .catch({ name: '', teams: [] }),
    ),
    models: outlineList(z.object({ id: word }).catch({ id: '' })),
  })
  .catch({ organizations: [], models: [] })

function outlineList<Item extends z.ZodType>(item: Item) {
  return z.array(item).catch([])
}

type TeamOutline = z.infer<typeof outlineSchema>['organizations'][number]['teams'][number]

function findContradictions(content: unknown, readSecret: ReadSecret | null): Mistake[] {
  const { organizations, models } = outlineSchema.parse(content)
  const declared = new Set(models.map(({ id }) => id))
  return [
    ...findRepeated(
      organizations.map((o) => o.name),
      (i) => ['organizations', i, 'name'],
    ),
    ...findRepeated(
      models.map((m) => m.id),
      (i) => ['models', i, 'id'],
    ),
    ...organizations.flatMap(({ teams }, i) => [
      ...findRepeated(
        teams.map((t) => t.name),
        (j) => ['organizations', i, 'teams', j, 'name'],
      ),
      ...teams.flatMap((team, j) => judgeTeam(team, declared, ['organizations', i, 'teams', j])),
    ]),
    ...judgeAliases(content),
    ...judgeBackends(content, readSecret),
  ]
}

function judgeTeam({ defaultModel, models, members }: TeamOutline, declared: ReadonlySet<string>, at: Path): Mistake[] {
  const addresses = members.map(({ email }) => toEmail(email) ?? '')
  const unknown = models.flatMap((id, i) =>
    id === '' || declared.has(id)
      ? []
      : [{ path: [...at, 'models', i], message: `names a model "${id}" that is not listed under models` }],
  )
  const isUsable = defaultModel === '' || models.includes(defaultModel)
  return [
    ...findRepeated(models, (i) => [...at, 'models', i]),
    ...findRepeated(addresses, (i) => [...at, 'members', i, 'email']),
    ...unknown,
    ...(isUsable
      ? []
      : [{ path: [...at, 'defaultModel'], message: `"${defaultModel}" is not one of the team's models` }]),
  ]
}
