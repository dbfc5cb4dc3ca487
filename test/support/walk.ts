import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import type { CDPSession, Page } from 'playwright-core'
import { startService } from './service.ts'
import type { TestService } from './service.ts'

/** A service that is reached at the address that it calls its own, as a browser needs. */
export async function startAtOwnAddress(env: Readonly<Record<string, string>> = {}): Promise<TestService> {
  const port = await freePort()
  return startService({ env: { SVC_PORT: String(port), SVC_BASE_URL: `http://localhost:${port}`, ...env } })
}

/** An authenticator of the browser's own; the person says yes whenever they are asked, until they look away. */
export type VirtualAuthenticator = {
  /** How many passkeys it holds. */
  count(): Promise<number>
  /** Whether the person answers what is asked from now on; what is asked while they look away waits for ever. */
  lookAt(attentive: boolean): Promise<void>
}

/** Gives the page's browser a built-in authenticator with a fingerprint reader. */
export async function addAuthenticator(page: Page): Promise<VirtualAuthenticator> {
  const session: CDPSession = await page.context().newCDPSession(page)
  await session.send('WebAuthn.enable')
  const { authenticatorId } = await session.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      protocol: 'ctap2',
      transport: 'internal',
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  })
  return {
    async count() {
      const { credentials } = await session.send('WebAuthn.getCredentials', { authenticatorId })
      return credentials.length
    },
    async lookAt(attentive) {
      await session.send('WebAuthn.setAutomaticPresenceSimulation', { authenticatorId, enabled: attentive })
    },
  }
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer()
    probe.once('error', reject)
    probe.listen(0, '127.0.0.1', () => {
      const { port } = probe.address() as AddressInfo
      probe.close(() => resolve(port))
    })
  })
}
