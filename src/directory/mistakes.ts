import type { z } from 'zod'

/** Where a mistake is in the directory file: names of fields, and positions in lists. */
export type Path = readonly (string | number)[]

export type Mistake = { readonly path: Path; readonly message: string }

/** Why an admin cannot have what they want. `taken`: others have the name, or the limit of a number is reached. */
export type AdminMistake = { readonly kind: 'invalid' | 'taken'; readonly message: string }

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

/** Reads settings by a schema. A mistake is one line of text, such as `serve[0].backend: is missing`. */
export function readSettings<Settings>(
  schema: z.ZodType<Settings>,
  given: unknown,
): { settings: Settings } | { mistakes: string[] } {
  const read = schema.safeParse(given)
  if (read.success) return { settings: read.data }
  return {
    mistakes: read.error.issues.flatMap(toMistakes).map(({ path, message }) => `${formatPath(path)}: ${message}`),
  }
}

/** Writes a path as `organizations[0].teams[1].name`. */
export function formatPath(path: Path): string {
  return path
    .map((step) => (typeof step === 'number' ? `[${step}]` : `.${step}`))
    .join('')
    .replace(/^\./, '')
}
