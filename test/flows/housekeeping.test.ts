import { describe, expect, it } from 'vitest'
import { housekeepingStore } from '../../src/control/housekeeping/store.ts'
import { startSignIn } from '../support/passkeys.ts'
import { signInBrowser } from '../support/people.ts'
import { startService } from '../support/service.ts'

describe('housekeeping', () => {
  it('deletes what is over, keeps what somebody may still ask for, and the audit', async () => {
    await using service = await startService()
    const { prisma } = service.database
    const { sweep } = housekeepingStore(prisma)
    const rows = async () => ({
      challenges: await prisma.webauthnChallenge.count(),
      logins: await prisma.deviceLogin.count(),
      devices: await prisma.deviceSession.count(),
      browsers: await prisma.browserSession.count(),
    })
    const audited = () => prisma.auditEvent.count()

    await service.signIn('ada@example.com')
    await signInBrowser(service, 'ada@example.com')
    await startSignIn(service)
    const before = await audited()
    expect(await sweep(service.clock.now())).toBe(0)

    service.clock.advance({ seconds: 300 })
    await sweep(service.clock.now())
    expect(await rows()).toEqual({ challenges: 0, logins: 2, devices: 1, browsers: 2 })

    service.clock.advance({ days: 9 })
    await sweep(service.clock.now())
    expect(await rows()).toEqual({ challenges: 0, logins: 1, devices: 1, browsers: 0 })

    service.clock.advance({ days: 120 })
    await sweep(service.clock.now())
    expect(await rows()).toEqual({ challenges: 0, logins: 0, devices: 0, browsers: 0 })
    expect(await audited()).toBe(before)
  })
})
