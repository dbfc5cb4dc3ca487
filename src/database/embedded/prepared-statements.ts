import { parse, protocol } from '@electric-sql/pglite'
import type { PGlite, Results } from '@electric-sql/pglite'
import { PLANNED_FOR_VALUES } from '../planned-for-values.ts'

type Message = Awaited<ReturnType<PGlite['execProtocolStream']>>[number]

/** A statement that the database has parsed. */
type Prepared = {
  readonly name: string
  readonly parameterTypes: readonly number[]
  /** Describes the columns of the rows; absent for a statement that returns none. */
  readonly columns: readonly Message[]
}

type Value = string | number | bigint | boolean | object | null | undefined

/** Runs a statement with its values. Each row is an array. */
export type RunStatement = <Row>(text: string, values?: readonly Value[]) => Promise<Results<Row>>

const MAX_PREPARED = 250
/** Longer texts are inserts of many rows. Their number of rows varies, so they seldom come again. */
const MAX_PREPARED_LENGTH = 20_000

/**
 * Runs the statements of a PGlite as prepared statements. PGlite's own `query` sends each statement to the parser and
 * the planner again, which takes longer than most statements run. When there are too many, the one that was not used
 * for the longest time is forgotten. The caller ensures that no other statement runs meanwhile.
 */
export function makePreparedStatements(pglite: PGlite): RunStatement {
  /** In the order of their last use. */
  const prepared = new Map<string, Prepared>()
  let lastName = 0

  /** Resolves with the answers. Rejects with a database error; the database then ignores the rest of the messages. */
  function send(...parts: readonly Uint8Array[]): Promise<Message[]> {
    const bytes = Buffer.concat([...parts, protocol.serialize.sync()])
    // Only a database in a browser has files to synchronize.
    return pglite.execProtocolStream(bytes, { syncToFs: false })
  }

  async function prepare(text: string): Promise<Prepared> {
    const isKept = text.length <= MAX_PREPARED_LENGTH && !text.includes(PLANNED_FOR_VALUES)
    // Each statement without a name replaces the one before.
    const name = isKept ? `svc_${(lastName += 1)}` : ''
    const { serialize } = protocol
    const answers = await send(serialize.parse({ name, text }), serialize.describe({ type: 'S', name }))
    const columns = answers.filter((message) => message.name === 'rowDescription')
    return { name, parameterTypes: parse.parseDescribeStatementResults(answers), columns }
  }

  async function find(text: string): Promise<Prepared> {
    const found = prepared.get(text) ?? (await prepare(text))
    if (found.name === '') return found
    // Puts it behind all others.
    prepared.delete(text)
    prepared.set(text, found)
    const [oldest] = prepared
    if (oldest && prepared.size > MAX_PREPARED) {
      prepared.delete(oldest[0])
      await send(protocol.serialize.close({ type: 'S', name: oldest[1].name }))
    }
    return found
  }

  return async <Row>(text: string, values: readonly Value[] = []) => {
    const { name, parameterTypes, columns } = await find(text)
    const written = values.map((value, index) => write(value, parameterTypes[index]))
    const { serialize } = protocol
    const answers = await send(serialize.bind({ statement: name, values: written }), serialize.execute({}))
    const [result] = parse.parseResults([...columns, ...answers], pglite.parsers, { rowMode: 'array' })
    if (!result) throw new Error('The database has answered nothing.')
    // The caller knows the columns of its statement.
    return result as Results<Row>
  }

  /** Writes a value as text. Bytes are sent as they are, in the binary format of their type. */
  function write(value: Value, type: number | undefined): string | Uint8Array | null {
    if (value === null || value === undefined) return null
    if (value instanceof Uint8Array) return value
    const serialize = type === undefined ? undefined : pglite.serializers[type]
    if (serialize) return serialize(value)
    // Only scalar types have no serializer of their own, such as uuid, numeric and enumerations.
    if (typeof value === 'object') throw new TypeError(`A value of the type ${type} must be a text or a number.`)
    return String(value)
  }
}
