import {
  generateAuthenticationOptions,
  generateRegistrationOptions,
  verifyAuthenticationResponse,
  verifyRegistrationResponse,
} from '@simplewebauthn/server'
import type { AuthenticationResponseJSON, RegistrationResponseJSON } from '@simplewebauthn/server'
import type { AuthenticationCredential, RegistrationCredential } from '../../../generated/openapi.ts'
import { Secret } from '../../kernel/secret.ts'
import { CHALLENGE_SECONDS } from './rules.ts'

/** The domain that passkeys are for, and the one origin that may use them here. Never from a request. */
export type Webauthn = { readonly rpId: string; readonly origin: string }

/**
 * EdDSA, ES256, RS256 (COSE). Named for options and for verification alike: what the library takes unasked depends on the runtime.
 */
const ALGORITHMS = [-8, -7, -257]

const TIMEOUT_MS = CHALLENGE_SECONDS * 1000

/** Who gets a passkey, and what they have. */
export type Registrant = {
  readonly email: string
  readonly userHandle: Uint8Array<ArrayBuffer>
  readonly passkeys: readonly { readonly credentialId: string; readonly transports: readonly string[] }[]
}

/** The options of a registration, with a new challenge in them. */
export async function registrationOptions({ rpId }: Webauthn, { email, userHandle, passkeys }: Registrant) {
  const options = await generateRegistrationOptions({
    rpName: 'svc',
    rpID: rpId,
    userID: userHandle,
    userName: email,
    userDisplayName: email,
    timeout: TIMEOUT_MS,
    attestationType: 'none',
    excludeCredentials: passkeys.map(({ credentialId, transports }) => ({
      id: credentialId,
      transports: [...transports],
    })),
    authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
    supportedAlgorithmIDs: ALGORITHMS,
  })
  return { options, challenge: new Secret(options.challenge) }
}

/** The options of a sign-in, the same for everybody but for the new challenge. */
export async function loginOptions({ rpId }: Webauthn) {
  const options = await generateAuthenticationOptions({
    rpID: rpId,
    timeout: TIMEOUT_MS,
    userVerification: 'required',
    allowCredentials: [],
  })
  return { options, challenge: new Secret(options.challenge) }
}

/** The challenge that a browser says it answers; null when it says none, or answers from inside a page of another site. */
export function readChallenge(clientDataJson: string): Secret | null {
  const said = parse(Buffer.from(clientDataJson, 'base64url').toString('utf8'))
  if (typeof said !== 'object' || said === null || !('challenge' in said)) return null
  if ('crossOrigin' in said && said.crossOrigin !== false) return null
  return typeof said.challenge === 'string' ? new Secret(said.challenge) : null
}

/** A passkey that was made for us, to be kept. */
export type MadePasskey = {
  readonly credentialId: string
  readonly publicKey: Uint8Array<ArrayBuffer>
  readonly counter: bigint
  readonly transports: string[]
  readonly deviceType: string
  readonly backedUp: boolean
}

/** What a registration made; null when anything about it is wrong. */
export async function verifyRegistration(
  { rpId, origin }: Webauthn,
  credential: RegistrationCredential,
  challenge: Secret,
): Promise<MadePasskey | null> {
  const made = await orNull(
    verifyRegistrationResponse({
      // The contract has checked the fields that are read; the others it leaves open.
      response: credential as unknown as RegistrationResponseJSON,
      expectedChallenge: challenge.reveal(),
      expectedOrigin: origin,
      expectedRPID: rpId,
      requireUserVerification: true,
      supportedAlgorithmIDs: ALGORITHMS,
    }),
  )
  if (!made?.verified) return null
  const { credential: key, credentialDeviceType, credentialBackedUp } = made.registrationInfo
  return {
    credentialId: key.id,
    publicKey: new Uint8Array(key.publicKey),
    counter: BigInt(key.counter),
    transports: credential.response.transports ?? [],
    deviceType: credentialDeviceType,
    backedUp: credentialBackedUp,
  }
}

/** What a genuine signature says besides; null when anything about it is wrong. Whether the counter moved is not judged here. */
export async function verifyLogin(
  { rpId, origin }: Webauthn,
  credential: AuthenticationCredential,
  challenge: Secret,
  passkey: { readonly credentialId: string; readonly publicKey: Uint8Array<ArrayBuffer> },
): Promise<{ counter: number; backedUp: boolean } | null> {
  const checked = await orNull(
    verifyAuthenticationResponse({
      response: credential as unknown as AuthenticationResponseJSON,
      expectedChallenge: challenge.reveal(),
      expectedOrigin: origin,
      expectedRPID: rpId,
      requireUserVerification: true,
      // With a counter of 0 the library judges the signature alone.
      credential: { id: passkey.credentialId, publicKey: passkey.publicKey, counter: 0 },
    }),
  )
  if (!checked?.verified) return null
  const { newCounter, credentialBackedUp } = checked.authenticationInfo
  return { counter: newCounter, backedUp: credentialBackedUp }
}

/** The library throws at most of what is wrong, with words that are for nobody outside. */
async function orNull<Checked>(checking: Promise<Checked>): Promise<Checked | null> {
  return checking.catch(() => null)
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}
