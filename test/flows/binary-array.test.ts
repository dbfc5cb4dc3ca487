import type { PGlite } from '@electric-sql/pglite'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { writeArray } from '../../src/database/binary-array.ts'
import type { ElementType, ElementValue } from '../../src/database/binary-array.ts'
import type { RunStatement } from '../../src/database/embedded/prepared-statements.ts'
import { openPrepared } from '../support/database.ts'

const ONE = '01932d5e-7c1f-7a5b-8c3d-2e4f5a6b7c8d'
const OTHER = 'ffffffff-ffff-ffff-ffff-ffffffffffff'

let pglite: PGlite
let run: RunStatement
beforeAll(async () => {
  ;({ pglite, run } = await openPrepared())
})
afterAll(() => pglite.close())

/** The values as texts, as the database has read them. */
async function readBack(type: ElementType, values: readonly ElementValue[]) {
  const { rows } = await run<unknown[]>(`SELECT $1::${type}[]::text[]`, [writeArray(type, values)])
  return rows[0]?.[0]
}

describe('an array in the binary format of Postgres', () => {
  const cases: readonly (readonly [ElementType, readonly ElementValue[], readonly (string | null)[]])[] = [
    ['text', ['a', 'a', '', 'ü"\\{},', '😀', 'a'], ['a', 'a', '', 'ü"\\{},', '😀', 'a']],
    ['text', [null, 'a', null, null, 'a', undefined], [null, 'a', null, null, 'a', null]],
    ['uuid', [ONE, ONE, OTHER, null], [ONE, ONE, OTHER, null]],
    ['int', [0, 1, 1, -1, 2_147_483_647, -2_147_483_648], ['0', '1', '1', '-1', '2147483647', '-2147483648']],
    [
      'bigint',
      [0, 4_294_967_296, -1, 2 ** 53 - 1, 1 - 2 ** 53],
      ['0', '4294967296', '-1', `${2 ** 53 - 1}`, `${1 - 2 ** 53}`],
    ],
    ['boolean', [true, false, null, true], ['true', 'false', null, 'true']],
    ['date', ['2026-11-22', '1999-12-31', '2024-02-29'], ['2026-11-22', '1999-12-31', '2024-02-29']],
    ['timestamptz', [Date.UTC(2026, 10, 22, 12, 0, 0, 7), 0], ['2026-11-22 12:00:00.007+00', '1970-01-01 00:00:00+00']],
  ]
  it.each(cases)('of %s has the values %j', async (type, values, expected) => {
    expect(await readBack(type, values)).toEqual(expected)
  })

  it('may have no values, or only nulls', async () => {
    expect(await readBack('int', [])).toEqual([])
    expect(await readBack('text', [null, undefined])).toEqual([null, null])
  })

  it('is not written when a value cannot be one of its type', () => {
    expect(() => writeArray('int', [2 ** 31])).toThrow(RangeError)
    expect(() => writeArray('uuid', ['ID'])).toThrow('Not a UUID: ID.')
    expect(() => writeArray('uuid', [`${ONE}0`])).toThrow('Not a UUID')
    expect(() => writeArray('bigint', [2 ** 63])).toThrow(RangeError)
  })
})
