import { generateKeyPairSync, randomUUID, sign } from 'node:crypto'

/** A TLS server's key and its self-signed certificate, in PEM. */
export type Certificate = { readonly key: string; readonly cert: string }

/**
 * Makes a certificate for `localhost` (RFC 5280, section 4.1), because Node makes none. Each has a subject of its own: a
 * process that trusts two certificates finds the one that has signed by its subject.
 */
export function makeCertificate(): Certificate {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const name = sequence(der(0x31, sequence(COMMON_NAME, der(0x0c, Buffer.from(`svc tests ${randomUUID()}`)))))
  const validity = sequence(der(0x17, Buffer.from('200101000000Z')), der(0x17, Buffer.from('491231235959Z')))
  const altNames = sequence(der(0x82, Buffer.from('localhost')))
  const extensions = sequence(sequence(SUBJECT_ALT_NAME, der(0x04, altNames)))
  const content = sequence(
    der(0xa0, der(0x02, Buffer.from([2]))),
    der(0x02, Buffer.from([1])),
    sequence(ECDSA_WITH_SHA256),
    name,
    validity,
    name,
    publicKey.export({ type: 'spki', format: 'der' }),
    der(0xa3, extensions),
  )
  const signature = Buffer.concat([Buffer.from([0]), sign('sha256', content, privateKey)])
  const whole = sequence(content, sequence(ECDSA_WITH_SHA256), der(0x03, signature))
  return {
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    cert: `-----BEGIN CERTIFICATE-----\n${whole.toString('base64')}\n-----END CERTIFICATE-----\n`,
  }
}

const ECDSA_WITH_SHA256 = Buffer.from('06082a8648ce3d040302', 'hex')
const COMMON_NAME = Buffer.from('0603550403', 'hex')
const SUBJECT_ALT_NAME = Buffer.from('0603551d11', 'hex')

const sequence = (...parts: readonly Buffer[]): Buffer => der(0x30, ...parts)

/** A value in DER: tag, length, content (ITU-T X.690). */
function der(tag: number, ...parts: readonly Buffer[]): Buffer {
  const content = Buffer.concat(parts)
  const { length } = content
  const size = length < 128 ? [length] : length < 256 ? [0x81, length] : [0x82, length >> 8, length & 255]
  return Buffer.concat([Buffer.from([tag, ...size]), content])
}
