import { expect, it } from 'vitest'
import { makeCallEventStore } from '../../src/gateway/usage/store.ts'
import { makeSpendingStore } from '../../src/spending/store.ts'
import { endedCall } from '../support/call-events.ts'
import { freshDatabase } from '../support/database.ts'

it('names only the batches that are saved, also when the asked teams have no limits', async () => {
  await using database = await freshDatabase()
  await makeCallEventStore(database).save({ id: 'batch_saved', events: [endedCall()] })
  const { findSpending } = makeSpendingStore(database)
  const of = { names: ['@acme/core'] }
  const found = await findSpending(of, new Date('2026-11-21T10:00:00Z'), ['batch_saved', 'batch_unsaved'])
  // A gateway goes on counting the other one: it may have calls of an idle team with limits.
  expect(found).toEqual({ limits: [], savedBatches: new Set(['batch_saved']) })
})
