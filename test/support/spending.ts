import { makeCallEventStore } from '../../src/gateway/usage/store.ts'
import { endedCall } from './call-events.ts'
import type { GivenCall } from './call-events.ts'
import type { TestService } from './service.ts'

/** Saves a call that ended now, with this cost. */
export async function spend({ database, clock }: TestService, nanoUsd: number, given: GivenCall = {}): Promise<void> {
  const at = clock.now().toISOString()
  const event = endedCall({ at, usage: { inputTokens: 1 }, result: { costNanoUsd: nanoUsd }, ...given })
  await makeCallEventStore(database).save({ id: `batch_${crypto.randomUUID()}`, events: [event] })
}

/** Limits `@acme/core` to 1 USD a month, of which 1.50 USD are spent. */
export async function useUpLimit(service: TestService): Promise<void> {
  const { prisma } = service.database
  const { id: teamId } = await prisma.team.findFirstOrThrow({ where: { name: 'core' } })
  const createdAt = service.clock.now()
  await prisma.spendingLimit.create({
    data: { teamId, subject: 'team', period: 'month', amountNanoUsd: 1e9, createdAt },
  })
  await spend(service, 1.5e9)
}
