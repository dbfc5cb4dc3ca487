import type { TestService } from './service.ts'

const SUBJECT = 'A new device signed in'

/**
 * How many mails told somebody of a new device so far, whichever of these services sent them. Each then signs another device in and
 * waits for that mail: mails leave in the order of their coming, so none is on its way any more.
 */
export async function newDeviceMails(services: readonly TestService[], email: string): Promise<number> {
  const ofEach = services.map(async (service, index) => {
    const deviceName = `After ${index}`
    await service.signIn(email, { deviceId: `after-${index}`, deviceName })
    const isLast = ({ text }: { text: string }) => text.includes(deviceName)
    for (let count = 1; ; count += 1) {
      const mails = await service.mailbox.waitFor(email, SUBJECT, count)
      if (mails.some(isLast)) return mails.length - 1
    }
  })
  return (await Promise.all(ofEach)).reduce((sum, count) => sum + count, 0)
}
