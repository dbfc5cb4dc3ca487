import type { PGlite } from '@electric-sql/pglite'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { RunStatement } from '../../src/database/embedded/prepared-statements.ts'
import { PLANNED_FOR_VALUES } from '../../src/database/planned-for-values.ts'
import { openPrepared } from '../support/database.ts'

let pglite: PGlite
let run: RunStatement

beforeAll(async () => {
  ;({ pglite, run } = await openPrepared())
})
afterAll(() => pglite.close())

async function countPrepared(): Promise<number> {
  const { rows } = await pglite.query<{ count: number }>('SELECT count(*)::int AS count FROM pg_prepared_statements')
  return rows[0]?.count ?? NaN
}

describe('prepared statements of the embedded database', () => {
  it('are parsed once, and take new values each time', async () => {
    const before = await countPrepared()
    const text = 'SELECT $1::int + 1, $2::uuid, $3::text'
    const uuid = '01932d5e-7c1f-7a5b-8c3d-2e4f5a6b7c8d'
    expect((await run(text, [1, uuid, null])).rows).toEqual([[2, uuid, null]])
    expect((await run(text, [41, uuid, 'ü"\\'])).rows).toEqual([[42, uuid, 'ü"\\']])
    expect(await countPrepared()).toBe(before + 1)
  })

  it('report the number of changed rows', async () => {
    const text = `INSERT INTO call_event_batches (id, saved_at) SELECT unnest($1::text::text[]), now()`
    expect((await run(text, ['{a,b,c}'])).affectedRows).toBe(3)
    expect((await run(text, ['{d}'])).affectedRows).toBe(1)
  })

  it('can be used again after an error in their text or in their values', async () => {
    await expect(run('SELECT * FROM no_such_table')).rejects.toMatchObject({ code: '42P01' })
    await expect(run('SELECT 1 / $1::int', [0])).rejects.toMatchObject({ code: '22012' })
    expect((await run('SELECT 1 / $1::int', [1])).rows).toEqual([[1]])
  })

  it('are forgotten when 250 others were used since, and when their text is long', async () => {
    for (let number = 0; number < 260; number += 1) await run(`SELECT ${number}`)
    const count = await countPrepared()
    expect(count).toBe(250)
    expect((await run('SELECT 0')).rows).toEqual([[0]])
    expect((await run(`SELECT 1 -- ${'x'.repeat(20_000)}`)).rows).toEqual([[1]])
    expect(await countPrepared()).toBe(count)
  })

  it('are not forgotten when they were used again meanwhile', async () => {
    const often = 'SELECT 1 AS often'
    for (let number = 1000; number < 1260; number += 1) {
      await run(`SELECT ${number}`)
      if (number % 100 === 0) await run(often)
    }
    const { rows } = await pglite.query('SELECT from_sql FROM pg_prepared_statements WHERE statement = $1', [often])
    expect(rows).toHaveLength(1)
  })

  it('do not include statements whose plan depends on their values', async () => {
    const before = await countPrepared()
    expect((await run(`${PLANNED_FOR_VALUES} SELECT $1::int + 1`, [1])).rows).toEqual([[2]])
    expect((await run(`${PLANNED_FOR_VALUES} SELECT $1::int + 1`, [2])).rows).toEqual([[3]])
    expect(await countPrepared()).toBe(before)
  })
})
