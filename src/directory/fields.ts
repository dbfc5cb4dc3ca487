/** The forms of single fields of the directory file, with messages for people. */
import { z } from 'zod'
import { toEmail } from '../kernel/email.ts'
import { isName } from '../kernel/team-name.ts'
import { isTimeZone } from '../spending/periods.ts'

/** The message for a field of the wrong type: `is missing`, or what it must be. */
export const must = (be: string) => ({
  error: ({ input }: { input?: unknown }) => (input === undefined ? 'is missing' : `must be ${be}`),
})

export const text = z
  .string(must('text'))
  .trim()
  .min(1, 'must not be empty')
  .max(200, 'must have at most 200 characters')
  // The database cannot store some of them: NUL, and one half of a surrogate pair.
  .refine((value) => !/[\p{Cc}\p{Cs}]/u.test(value), 'must have no control characters')

/** A field that may be left out; null without it. */
export const orNull = <Field extends z.ZodType>(field: Field) => field.nullish().transform((value) => value ?? null)

export const trueOrFalse = z.boolean(must('true or false'))
export const flag = trueOrFalse.default(true)

export const name = z
  .string(must('text'))
  .refine(isName, 'must be 1 to 64 of a-z, 0-9, ".", "_" and "-", and begin with a letter or digit')

export const modelId = z
  .string(must('text'))
  .max(128, 'must have at most 128 characters')
  .regex(/^[A-Za-z0-9][\w.-]*\/[A-Za-z0-9][\w.:/@+-]*$/, 'must have the form namespace/name')

/** A further name of a model, or a prefix of such names followed by `*`. */
export const alias = z
  .string(must('text'))
  .max(128, 'must have at most 128 characters')
  .regex(/^[A-Za-z0-9][\w.:/@+-]*\*?$/, 'must be a name, or a prefix of names followed by "*"')

/** The zone in which the periods of spending limits begin. */
export const timeZone = z
  .string(must('text'))
  .refine(isTimeZone, 'must be the IANA name of a time zone, such as Europe/Berlin')
  .default('UTC')

export const email = z.string(must('text')).transform((given, context) => {
  const address = toEmail(given)
  if (address === null) context.addIssue({ code: 'custom', message: `"${given}" is not an email address` })
  return address ?? z.NEVER
})

export const role = z.enum(['member', 'admin'], must('member or admin')).default('member')

/** The largest number that the database keeps. */
const MAX_REVISION = 2_147_483_647

/** Grows with each change of the file; may be left out. */
export const revision = z
  .int(must('a whole number'))
  .min(0, 'must be at least 0')
  .max(MAX_REVISION, `must be at most ${MAX_REVISION}`)
  .nullish()

/** A number of tokens. */
export const tokens = z
  .int(must('a whole number'))
  .min(1, 'must be at least 1')
  .max(100_000_000, 'must be at most 100000000')

export const oneOf = <const Words extends readonly [string, ...string[]]>(words: Words) =>
  z.enum(words, must(`one of ${words.join(', ')}`))

/** A mapping with these fields and no others. */
export const object = <Shape extends z.ZodRawShape>(shape: Shape) => {
  const unknownField = `is not a known field (known: ${Object.keys(shape).join(', ')})`
  const mapping = must('a mapping')
  return z.strictObject(shape, {
    error: (issue) => (issue.code === 'unrecognized_keys' ? unknownField : mapping.error(issue)),
  })
}
export const list = <Item extends z.ZodType>(item: Item) => z.array(item, must('a list'))

/** One item or a list of at least one; gives a list. A mistake has its path inside of it. */
export const oneOrList = <Item extends z.ZodType>(item: Item) =>
  z.unknown().transform((given, context): z.output<Item>[] => {
    const read = Array.isArray(given) ? list(item).min(1, 'must not be empty').safeParse(given) : item.safeParse(given)
    if (read.success) return Array.isArray(read.data) ? read.data : [read.data]
    for (const issue of read.error.issues) {
      // Cast: an issue that was found becomes one of this value, with its path inside of the value.
      context.issues.push({ ...issue, input: given } as z.core.$ZodRawIssue)
    }
    // After an unknown field zod goes on, with this value.
    return []
  })
