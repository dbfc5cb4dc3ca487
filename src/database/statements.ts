import type { ArgType, ColumnType, SqlDriverAdapter } from '@prisma/driver-adapter-utils'
import type { SqlDriverAdapterFactory, SqlQuery, SqlResultSet } from '@prisma/driver-adapter-utils'
import type { Sql } from './sql.ts'

/**
 * Sends statements to the database as they are, each in a transaction of its own. Prisma would write their values as
 * JSON and read them again, which takes longer than most statements, so what runs often or has many kilobytes is sent
 * here.
 */
export type Statements = {
  /**
   * Runs a statement and resolves with its rows. Times are `Date`, JSON is parsed, whole numbers of 64 bits are
   * `bigint`.
   */
  readonly query: <Row>(statement: Sql) => Promise<Row[]>
  /** Runs a statement and resolves with the number of rows that it has inserted, changed or deleted. */
  readonly execute: (statement: Sql) => Promise<number>
}

/** Makes the functions that send statements to the adapter of a database. */
export function makeStatements(factory: SqlDriverAdapterFactory): Statements {
  let adapter: SqlDriverAdapter | null = null
  const connect = async () => (adapter ??= await factory.connect())
  return {
    async query<Row>(statement: Sql) {
      const result = await (adapter ?? (await connect())).queryRaw(toQuery(statement))
      // The caller knows the columns of its statement.
      return toRows(result) as Row[]
    },
    execute: async (statement) => (adapter ?? (await connect())).executeRaw(toQuery(statement)),
  }
}

/** The adapter sends a value of this type as it is. */
const UNKNOWN: ArgType = { scalarType: 'unknown', arity: 'scalar' }

function toQuery({ text, values }: Sql): SqlQuery {
  return { sql: text, args: values, argTypes: values.map(() => UNKNOWN) }
}

/** How the types of columns that adapters return as texts are read, by their numbers (`ColumnTypeEnum` of Prisma). */
const READERS: Partial<Record<ColumnType, (text: string) => unknown>> = {
  1: (int64) => BigInt(int64),
  10: (dateTime) => new Date(dateTime),
  11: (json) => JSON.parse(json) as unknown,
}

function toRows({ columnNames, columnTypes, rows }: SqlResultSet): Record<string, unknown>[] {
  const columns = columnNames.map((name, at) => ({ name, read: readerOf(columnTypes[at]) }))
  return rows.map((values) => {
    const row: Record<string, unknown> = {}
    for (const [at, { name, read }] of columns.entries()) {
      const value = values[at]
      row[name] = read && typeof value === 'string' ? read(value) : value
    }
    return row
  })
}

function readerOf(type: ColumnType | undefined) {
  return type === undefined ? undefined : READERS[type]
}
