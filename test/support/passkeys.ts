import { AuthenticatorEmulator, PasskeysCredentialsMemoryRepository, WebAuthnEmulator } from 'nid-webauthn-emulator'
import type {
  AuthenticationCredential,
  PasskeyCreationOptions,
  PasskeyRequestOptions,
  RegistrationCredential,
} from '../../generated/sdk/index.js'
import { json } from './requests.ts'
import { BASE_URL } from './service.ts'
import type { TestService } from './service.ts'

type AuthenticatorOptions = {
  /** What it says about the person: verified, and there at all. */
  readonly uv?: boolean
  readonly up?: boolean
  /** By how much its counter moves with each use; a synced passkey has none. */
  readonly signCounterIncrement?: number
}

/** An authenticator in a browser at the service's address; it says yes to everything that it is asked. */
export type Authenticator = {
  create(options: PasskeyCreationOptions, origin?: string): RegistrationCredential
  get(options: PasskeyRequestOptions, origin?: string): AuthenticationCredential
}

export function newAuthenticator(given: AuthenticatorOptions = {}): Authenticator {
  const { signCounterIncrement = 1 } = given
  // Read at each use: a test may change its mind between two ceremonies.
  const interaction = () => ({ options: { uv: given.uv ?? true, up: given.up ?? true } })
  const emulator = new WebAuthnEmulator(
    new AuthenticatorEmulator({
      signCounterIncrement,
      userMakeCredentialInteraction: interaction,
      userGetAssertionInteraction: interaction,
      // Its own: the package's default is one for all authenticators.
      credentialsRepository: new PasskeysCredentialsMemoryRepository(),
    }),
  )
  return {
    // The emulator has types of its own for the same JSON.
    create: (options, origin = BASE_URL) => emulator.createJSON(origin, options) as unknown as RegistrationCredential,
    get: (options, origin = BASE_URL) => emulator.getJSON(origin, options) as unknown as AuthenticationCredential,
  }
}

/** How somebody is known: by a token or by cookies. */
export type Credential = { readonly authorization: string } | { readonly cookie: string }

export function bearer(accessToken: string): Credential {
  return { authorization: `Bearer ${accessToken}` }
}

/** Begins to add a passkey; the options that the service gives. */
export async function startRegistration(service: TestService, by: Credential): Promise<PasskeyCreationOptions> {
  const response = await service.fetch('/v1/auth/passkeys/register/start', json({}, by))
  if (!response.ok) throw new Error(`The registration did not start: ${await response.text()}`)
  return (await response.json()) as PasskeyCreationOptions
}

export function finishRegistration(
  service: TestService,
  by: Credential,
  credential: unknown,
  name?: string,
): Promise<Response> {
  return service.fetch('/v1/auth/passkeys/register/finish', json({ credential, ...(name && { name }) }, by))
}

/** Adds a passkey to the account; its id. */
export async function addPasskey(
  service: TestService,
  by: Credential,
  authenticator: Authenticator,
  name?: string,
): Promise<string> {
  const credential = authenticator.create(await startRegistration(service, by))
  const response = await finishRegistration(service, by, credential, name)
  if (!response.ok) throw new Error(`The passkey was not added: ${await response.text()}`)
  return ((await response.json()) as { id: string }).id
}

/** Begins a sign-in; the options that the service gives. */
export async function startSignIn(service: TestService, email?: string): Promise<PasskeyRequestOptions> {
  const response = await service.fetch('/v1/auth/passkeys/login/start', json(email ? { email } : {}))
  if (!response.ok) throw new Error(`The sign-in did not start: ${await response.text()}`)
  return (await response.json()) as PasskeyRequestOptions
}

export function finishSignIn(
  service: TestService,
  credential: unknown,
  fields: object = {},
  headers: Record<string, string> = {},
): Promise<Response> {
  return service.fetch('/v1/auth/passkeys/login/finish', json({ credential, ...fields }, headers))
}

/** The whole ceremony of a sign-in. */
export async function signInWithPasskey(
  service: TestService,
  authenticator: Authenticator,
  fields: object = {},
  headers: Record<string, string> = {},
): Promise<Response> {
  return finishSignIn(service, authenticator.get(await startSignIn(service)), fields, headers)
}
