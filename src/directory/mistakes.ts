import type { z } from 'zod'

/** Where a mistake is in the directory file: names of fields, and positions in lists. */
export type Path = readonly (string | number)[]

export type Mistake = { readonly path: Path; readonly message: string }

/** A mistake in what an admin asks for. Its path is empty where it belongs to no field. */
export type FieldMistake = Mistake & {
  /** A sentence for callers of the API only. */
  readonly hint?: string | undefined
}

/** Why an admin cannot have what they want. `taken`: others have the name, or the limit of a number is reached. */
export type AdminMistake = { readonly kind: 'invalid' | 'taken'; readonly mistakes: readonly FieldMistake[] }

/** A mistake of the form of what an admin asks for. */
export function invalid(path: Path, message: string, hint?: string): AdminMistake {
  return { kind: 'invalid', mistakes: [{ path, message, hint }] }
}

/** A mistake that others cause. */
export function taken(path: Path, message: string): AdminMistake {
  return { kind: 'taken', mistakes: [{ path, message }] }
}

/** Writes mistakes as one text, such as `displayName: is missing; serve[0].backend: is missing.`. */
export function writeMistakes(mistakes: readonly FieldMistake[]): string {
  const texts = mistakes.map(({ path, message, hint }) => {
    const text = path.length > 0 ? `${formatPath(path)}: ${message}` : message
    return hint === undefined ? text : `${withStop(text)} ${hint}`
  })
  return withStop(texts.join('; '))
}

/** A text with a full stop at its end. */
export function withStop(text: string): string {
  return text.endsWith('.') ? text : `${text}.`
}

/** A mistake for each value that was listed before; empty values do not count. */
export function findRepeated(values: readonly string[], pathOf: (index: number) => Path = () => []): Mistake[] {
  const seen = new Set<string>()
  return values.flatMap((value, i) => {
    const isRepeated = value !== '' && seen.has(value)
    seen.add(value)
    return isRepeated ? [{ path: pathOf(i), message: `"${value}" is listed twice` }] : []
  })
}

/** The mistakes that a schema has found. */
export function toMistakes(issue: z.core.$ZodIssue): Mistake[] {
  const path = issue.path.map((step) => (typeof step === 'number' ? step : String(step)))
  if (issue.code !== 'unrecognized_keys') return [{ path, message: issue.message }]
  return issue.keys.map((key) => ({ path: [...path, key], message: issue.message }))
}

/** Reads settings by a schema. */
export function readSettings<Settings>(
  schema: z.ZodType<Settings>,
  given: unknown,
): { settings: Settings } | AdminMistake {
  const read = schema.safeParse(given)
  if (read.success) return { settings: read.data }
  return { kind: 'invalid', mistakes: read.error.issues.flatMap(toMistakes) }
}

/** Writes a path as `organizations[0].teams[1].name`. */
export function formatPath(path: Path): string {
  return path
    .map((step) => (typeof step === 'number' ? `[${step}]` : `.${step}`))
    .join('')
    .replace(/^\./, '')
}
