import { AuthenticatorEmulator, PasskeysCredentialsMemoryRepository, WebAuthnEmulator } from 'nid-webauthn-emulator'
import type {
  AuthenticationCredential,
  PasskeyCreationOptions,
  PasskeyRequestOptions,
  RegistrationCredential,
} from '../../generated/sdk/index.js'
import { expectJson, json } from './requests.ts'
import { BASE_URL } from './service.ts'
import type { TestService } from './service.ts'

type AuthenticatorOptions = {
  /** The flags that it sets: user verified, user present (WebAuthn, section 6.1). */
  readonly uv?: boolean
  readonly up?: boolean
  /** How much its signature counter grows with each use; 0 for a synced passkey, which has no counter. */
  readonly signCounterIncrement?: number
}

/** An authenticator in a browser at the service's address. It consents to every request. */
export type Authenticator = {
  create(options: PasskeyCreationOptions, origin?: string): RegistrationCredential
  get(options: PasskeyRequestOptions, origin?: string): AuthenticationCredential
}

export function newAuthenticator(given: AuthenticatorOptions = {}): Authenticator {
  const { signCounterIncrement = 1 } = given
  // Read at each use, because a test may change the options between two ceremonies.
  const interaction = () => ({ options: { uv: given.uv ?? true, up: given.up ?? true } })
  const emulator = new WebAuthnEmulator(
    new AuthenticatorEmulator({
      signCounterIncrement,
      userMakeCredentialInteraction: interaction,
      userGetAssertionInteraction: interaction,
      // The package's default is one store that all authenticators share.
      credentialsRepository: new PasskeysCredentialsMemoryRepository(),
    }),
  )
  return {
    // The emulator declares its own types for the same JSON.
    create: (options, origin = BASE_URL) => emulator.createJSON(origin, options) as unknown as RegistrationCredential,
    get: (options, origin = BASE_URL) => emulator.getJSON(origin, options) as unknown as AuthenticationCredential,
  }
}

/** What a request authenticates with: a bearer token or cookies. */
export type Credential = { readonly authorization: string } | { readonly cookie: string }

/** Starts to add a passkey; returns the options for the authenticator. */
export async function startRegistration(service: TestService, by: Credential): Promise<PasskeyCreationOptions> {
  return expectJson('The start of a registration', service.fetch('/v1/auth/passkeys/register/start', json({}, by)))
}

export function finishRegistration(
  service: TestService,
  by: Credential,
  credential: unknown,
  name?: string,
): Promise<Response> {
  return service.fetch('/v1/auth/passkeys/register/finish', json({ credential, ...(name && { name }) }, by))
}

/** Adds a passkey to the account; returns its id. */
export async function addPasskey(
  service: TestService,
  by: Credential,
  authenticator: Authenticator,
  name?: string,
): Promise<string> {
  const credential = authenticator.create(await startRegistration(service, by))
  const added = finishRegistration(service, by, credential, name)
  return (await expectJson<{ id: string }>('Adding a passkey', added)).id
}

/** Starts a sign-in by passkey; returns the options for the authenticator. */
export async function startSignIn(service: TestService, email?: string): Promise<PasskeyRequestOptions> {
  const started = service.fetch('/v1/auth/passkeys/login/start', json(email ? { email } : {}))
  return expectJson('The start of a sign-in by passkey', started)
}

export function finishSignIn(
  service: TestService,
  credential: unknown,
  fields: object = {},
  headers: Record<string, string> = {},
): Promise<Response> {
  return service.fetch('/v1/auth/passkeys/login/finish', json({ credential, ...fields }, headers))
}

/** Signs in by passkey: start, authenticator, finish. Returns the last answer, whatever it is. */
export async function signInWithPasskey(
  service: TestService,
  authenticator: Authenticator,
  fields: object = {},
  headers: Record<string, string> = {},
): Promise<Response> {
  return finishSignIn(service, authenticator.get(await startSignIn(service)), fields, headers)
}
