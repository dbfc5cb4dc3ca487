import type { CDPSession, Page } from 'playwright-core'

/** The built-in authenticator of a browser, with a person in front of it who consents while they are present. */
export type VirtualAuthenticator = {
  /** The number of passkeys that it holds. */
  count(): Promise<number>
  /** Sets whether the person consents to requests from now on. A request while they are absent is never answered. */
  setPresence(isPresent: boolean): Promise<void>
}

/** Adds a built-in authenticator with user verification to the page's browser. */
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
    async setPresence(isPresent) {
      await session.send('WebAuthn.setAutomaticPresenceSimulation', { authenticatorId, enabled: isPresent })
    },
  }
}
