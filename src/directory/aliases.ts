/**
 * Aliases are further names of models. An alias is a whole name, or a prefix of names that ends in `*`. A whole name
 * takes precedence over a prefix, and a longer prefix over a shorter one. So each name means one model at most, and the
 * order of the file does not matter.
 */
import { z } from 'zod'
import { findRepeated } from './mistakes.ts'
import type { Mistake } from './mistakes.ts'

export type NamedModel = { readonly id: string; readonly aliases: readonly string[] }

/** The model that each name means, over all models of a directory. */
export type NameTable = {
  /** Ids and whole aliases. */
  readonly ids: ReadonlyMap<string, string>
  /** In descending order: of two prefixes of a name, the longer one comes first. */
  readonly prefixes: readonly { readonly prefix: string; readonly id: string }[]
  /** Names that count only where none of these fits: those of the models that the admins of a team have added. */
  readonly next?: NameTable
}

/** The table of the ids and aliases of models. An alias that ends in `*` is a prefix of names. */
export function makeNameTable(models: readonly NamedModel[]): NameTable {
  const names = models.flatMap(({ id, aliases }) => [id, ...aliases].map((name) => ({ name, id })))
  const prefixes = names
    .filter(({ name }) => isPrefix(name))
    .map(({ name, id }) => ({ prefix: name.slice(0, -1), id }))
    .sort((a, b) => (a.prefix < b.prefix ? 1 : -1))
  return { ids: new Map(names.filter(({ name }) => !isPrefix(name)).map(({ name, id }) => [name, id])), prefixes }
}

/** Finds the id of the model that a name means; null when it means none. Names are case-sensitive. */
export function findModelId({ ids, prefixes, next }: NameTable, name: string): string | null {
  const id = ids.get(name) ?? prefixes.find(({ prefix }) => name.startsWith(prefix))?.id ?? null
  return id ?? (next ? findModelId(next, name) : null)
}

/** Whether a name, or every name of a prefix that ends in `*`, means a model of a table already. */
export function isTaken(table: NameTable, name: string): boolean {
  if (!isPrefix(name)) return findModelId(table, name) !== null
  return table.prefixes.some(({ prefix }) => name.slice(0, -1).startsWith(prefix))
}

/** Whether an alias stands for all names that begin like it. */
export function isPrefix(alias: string): boolean {
  return alias.endsWith('*')
}

const word = z.string().catch('')
const outlineSchema = z
  .object({
    models: z.array(z.object({ id: word, aliases: z.array(word).catch([]) }).catch({ id: '', aliases: [] })).catch([]),
  })
  .catch({ models: [] })

/** Aliases of the directory file that have two meanings, found without regard to its other mistakes. */
export function judgeAliases(content: unknown): Mistake[] {
  const { models } = outlineSchema.parse(content)
  const ids = new Set(models.map(({ id }) => id))
  const listed = models.flatMap(({ aliases }, i) =>
    aliases.map((alias, j) => ({ alias, path: ['models', i, 'aliases', j] })),
  )
  const taken = listed.filter(({ alias }) => alias !== '' && ids.has(alias))
  return [
    ...taken.map(({ alias, path }) => ({ path, message: `"${alias}" is the id of a model` })),
    ...findRepeated(
      listed.map(({ alias }) => alias),
      (i) => listed[i]?.path ?? [],
    ),
  ]
}
