import type { AuthenticationResponseJSON, RegistrationResponseJSON } from '@simplewebauthn/server'
import type {
  AuthenticationCredential,
  PasskeyCreationOptions,
  PasskeyRequestOptions,
  RegistrationCredential,
} from '../../../generated/openapi.ts'
import { parseJson } from '../../kernel/json.ts'
import { Secret } from '../../kernel/secret.ts'
import { CHALLENGE_SECONDS } from './rules.ts'

/**
 * The relying party: its domain, and the one origin that may use its passkeys. From the settings, never from a request.
 */
export type Webauthn = { readonly rpId: string; readonly origin: string }

/**
 * EdDSA, ES256, RS256 (COSE). Given to options and verification alike, because the library's default depends on the
 * runtime.
 */
const ALGORITHMS = [-8, -7, -257]

/** Loaded at the first use, because it has a sixth of all modules of the service, which would delay each start. */
const loadLibrary = () => import('@simplewebauthn/server')

const TIMEOUT_MS = CHALLENGE_SECONDS * 1000

/** Makes the options of a registration, with a new challenge in them. `passkeys`: those that the account has. */
export async function makeRegistrationOptions(
  rpId: string,
  { email, userHandle }: { readonly email: string; readonly userHandle: Uint8Array<ArrayBuffer> },
  passkeys: readonly { readonly credentialId: string; readonly transports: readonly string[] }[],
): Promise<{ options: PasskeyCreationOptions; challenge: Secret }> {
  const { generateRegistrationOptions } = await loadLibrary()
  const { rp, user, challenge, pubKeyCredParams, excludeCredentials } = await generateRegistrationOptions({
    rpName: 'svc',
    rpID: rpId,
    userID: userHandle,
    userName: email,
    userDisplayName: email,
    excludeCredentials: passkeys.map(({ credentialId, transports }) => ({
      id: credentialId,
      transports: [...transports],
    })),
    supportedAlgorithmIDs: ALGORITHMS,
  })
  const options: PasskeyCreationOptions = {
    rp: { id: rp.id ?? rpId, name: rp.name },
    user: { id: user.id, name: user.name, displayName: user.displayName },
    challenge,
    pubKeyCredParams: pubKeyCredParams.map(({ alg }) => ({ type: 'public-key', alg })),
    timeout: TIMEOUT_MS,
    excludeCredentials: (excludeCredentials ?? []).map(({ id, transports = [] }) => ({
      type: 'public-key',
      id,
      transports,
    })),
    authenticatorSelection: { residentKey: 'required', requireResidentKey: true, userVerification: 'required' },
    attestation: 'none',
    extensions: { credProps: true },
    hints: [],
  }
  return { options, challenge: new Secret(challenge) }
}

/** Makes the options of a sign-in. They are the same for every caller but for the new challenge. */
export async function makeLoginOptions(rpId: string): Promise<{ options: PasskeyRequestOptions; challenge: Secret }> {
  const { generateAuthenticationOptions } = await loadLibrary()
  const { challenge } = await generateAuthenticationOptions({ rpID: rpId, allowCredentials: [] })
  const options: PasskeyRequestOptions = {
    challenge,
    rpId,
    timeout: TIMEOUT_MS,
    userVerification: 'required',
    allowCredentials: [],
  }
  return { options, challenge: new Secret(challenge) }
}

/**
 * The challenge that a browser answered; null when there is none, or when the answer comes from a frame inside another
 * site's page.
 */
export function readChallenge(clientDataJson: string): Secret | null {
  const clientData = parseJson(Buffer.from(clientDataJson, 'base64url').toString('utf8'))
  if (typeof clientData !== 'object' || clientData === null || !('challenge' in clientData)) return null
  if ('crossOrigin' in clientData && clientData.crossOrigin !== false) return null
  return typeof clientData.challenge === 'string' ? new Secret(clientData.challenge) : null
}

/** A new passkey, to be saved. */
export type MadePasskey = {
  readonly credentialId: string
  readonly publicKey: Uint8Array<ArrayBuffer>
  readonly counter: bigint
  readonly transports: string[]
  readonly deviceType: string
  readonly backedUp: boolean
}

/** What a transport of WebAuthn looks like, also an unknown one. The database cannot store a text with NUL. */
const TRANSPORT = /^[\w-]+$/

/** Verifies a registration and returns the passkey; null when anything about it is wrong. */
export async function verifyRegistration(
  { rpId, origin }: Webauthn,
  credential: RegistrationCredential,
  challenge: Secret,
): Promise<MadePasskey | null> {
  const { verifyRegistrationResponse } = await loadLibrary()
  const verified = await orNull(
    verifyRegistrationResponse({
      // The contract has checked the fields that the library reads, and leaves the others open.
      response: credential as unknown as RegistrationResponseJSON,
      expectedChallenge: challenge.reveal(),
      expectedOrigin: origin,
      expectedRPID: rpId,
      requireUserVerification: true,
      supportedAlgorithmIDs: ALGORITHMS,
    }),
  )
  if (!verified?.verified) return null
  const { credential: key, credentialDeviceType, credentialBackedUp } = verified.registrationInfo
  return {
    credentialId: key.id,
    publicKey: new Uint8Array(key.publicKey),
    counter: BigInt(key.counter),
    transports: (credential.response.transports ?? []).filter((transport) => TRANSPORT.test(transport)),
    deviceType: credentialDeviceType,
    backedUp: credentialBackedUp,
  }
}

/**
 * Verifies a sign-in and returns what the authenticator reported; null when anything is wrong. Does not judge the
 * counter.
 */
export async function verifyLogin(
  { rpId, origin }: Webauthn,
  credential: AuthenticationCredential,
  challenge: Secret,
  passkey: { readonly credentialId: string; readonly publicKey: Uint8Array<ArrayBuffer> },
): Promise<{ counter: number; backedUp: boolean } | null> {
  const { verifyAuthenticationResponse } = await loadLibrary()
  const verified = await orNull(
    verifyAuthenticationResponse({
      // As in `verifyRegistration`.
      response: credential as unknown as AuthenticationResponseJSON,
      expectedChallenge: challenge.reveal(),
      expectedOrigin: origin,
      expectedRPID: rpId,
      requireUserVerification: true,
      // A stored counter of 0 makes the library check the signature only.
      credential: { id: passkey.credentialId, publicKey: passkey.publicKey, counter: 0 },
    }),
  )
  if (!verified?.verified) return null
  const { newCounter, credentialBackedUp } = verified.authenticationInfo
  return { counter: newCounter, backedUp: credentialBackedUp }
}

/** The library throws for most mistakes, with messages that are not for clients. */
async function orNull<Verified>(verifying: Promise<Verified>): Promise<Verified | null> {
  return verifying.catch(() => null)
}
