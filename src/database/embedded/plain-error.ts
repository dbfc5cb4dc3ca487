import { DatabaseOpenError } from '../client.ts'
import { MigrationError } from '../migrations.ts'

/** An error as it passes between threads, which would otherwise lose its class and its fields. */
export type PlainError = { readonly name: string; readonly message: string; readonly fields: Record<string, unknown> }

/** Writes an error with those of its fields that are data, such as the code of a database error. */
export function toPlainError(error: unknown): PlainError {
  if (!(error instanceof Error)) return { name: 'Error', message: String(error), fields: {} }
  const own = Object.fromEntries(Object.entries(error))
  const fields = JSON.parse(JSON.stringify(own)) as Record<string, unknown>
  return { name: error.name, message: error.message, fields }
}

/** Makes the error again. Prisma recognizes the errors of its adapters by their name and cause. */
export function fromPlainError({ name, message, fields }: PlainError): Error {
  const Known = KNOWN[name] ?? Error
  return Object.assign(new Known(message), fields, { name })
}

const KNOWN: Readonly<Record<string, new (message: string) => Error>> = { DatabaseOpenError, MigrationError }
