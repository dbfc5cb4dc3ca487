import type { TestService } from './service.ts'

const SUBJECT = 'A new device signed in'

/**
 * The number of emails about new devices that these services have sent to an address so far.
 *
 * A service sends its emails in order. So each signs in one more device and waits for the email about it; then no
 * earlier email can still be on its way.
 */
export async function countNewDeviceMails(services: readonly TestService[], email: string): Promise<number> {
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
