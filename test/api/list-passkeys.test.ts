import { describe, expect, it } from 'vitest'
import { addPasskey, newAuthenticator, signInWithPasskey } from '../support/passkeys.ts'
import { directoryOf } from '../support/people.ts'
import { bearerOf, outcomeOf } from '../support/requests.ts'
import { startService } from '../support/service.ts'

const DIRECTORY = directoryOf(['ada@example.com', 'grace@example.com'])

describe('listPasskeys', () => {
  describe('200', () => {
    it('lists only the passkeys of the account, the oldest first, with their last use', async () => {
      await using service = await startService({ directory: DIRECTORY })
      const ada = await service.signIn('ada@example.com')
      const grace = await service.signIn('grace@example.com')
      const used = newAuthenticator()
      await addPasskey(service, bearerOf(ada.accessToken), used, 'first')
      service.clock.advance({ seconds: 1 })
      await addPasskey(service, bearerOf(ada.accessToken), newAuthenticator(), 'second')
      await addPasskey(service, bearerOf(grace.accessToken), newAuthenticator(), 'not hers')
      await signInWithPasskey(service, used)

      const { data } = await service.clientOf(ada.accessToken).GET('/v1/auth/passkeys')
      expect(data?.passkeys.map(({ name, lastUsedAt }) => [name, lastUsedAt])).toEqual([
        ['first', service.clock.now().toISOString()],
        ['second', null],
      ])
    })
  })

  describe('401', () => {
    it('refuses a caller who is not signed in', async () => {
      await using service = await startService()
      expect(await outcomeOf(await service.fetch('/v1/auth/passkeys'))).toBe('401 unauthorized')
    })
  })
})
