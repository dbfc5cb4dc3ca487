import { isIP } from 'node:net'
import { z } from 'zod'
import { readAllowedHosts } from '../kernel/network/allowed-hosts.ts'
import { VERSION_AT_END } from '../kernel/network/backend-url.ts'
import { readEncryptionKey } from '../kernel/credentials/cipher.ts'
import type { EncryptionKey } from '../kernel/credentials/cipher.ts'
import { withoutBrackets } from '../kernel/network/ip-address.ts'
import { Secret } from '../kernel/secret.ts'

export const text = z.string().trim().min(1, 'must not be blank')

/** Marks a field whose value is a secret or contains one, so that it can also be given as a file. */
const withSecret = <Field extends z.ZodType>(field: Field) => field.meta({ holdsSecret: true })

/** A token or key that is sent in a header. */
export const secret = withSecret(
  text
    .refine(isHeaderValue, 'must be printable ASCII without spaces, because it is sent in an HTTP header')
    .transform((value) => new Secret(value)),
)

/** Whether a secret can be sent in a header. Calls with any other one would fail. */
export function isHeaderValue(value: string): boolean {
  return /^[\x21-\x7e]+$/.test(value)
}

/** Keys of 32 bytes in base64, separated by commas or line breaks. The first one encrypts. */
export const encryptionKeys = withSecret(
  text.transform((value, context): [EncryptionKey, ...EncryptionKey[]] => {
    const keys = value.split(/[\s,]+/).filter((key) => key !== '')
    const [first, ...others] = keys.map(readEncryptionKey)
    const known = others.filter((key) => key !== null)
    if (first && known.length === others.length) return [first, ...known]
    const message = 'must be 32 random bytes in base64, or several such keys separated by commas'
    context.addIssue({ code: 'custom', message })
    return z.NEVER
  }),
)

export const allowedHosts = text.transform((value, context) => {
  const hosts = readAllowedHosts(value)
  if (!hosts) {
    const message =
      'must be host names, *.DOMAIN, each with or without :PORT, IP addresses or ranges such as 10.0.0.0/8, ' +
      'separated by commas'
    context.addIssue({ code: 'custom', message })
  }
  return hosts ?? z.NEVER
})

/** Whether the value of a setting is a secret or contains one, such as the password in a URL. */
export function holdsSecret(field: z.ZodType): boolean {
  if (field.meta()?.['holdsSecret'] === true) return true
  return (field instanceof z.ZodOptional || field instanceof z.ZodDefault) && holdsSecret(field.unwrap() as z.ZodType)
}

export const flag = z.enum(['0', '1']).transform((value) => value === '1')

/** A whole number within these bounds, written with digits only. */
export function wholeNumber(min: number, max: number) {
  const message = `must be a whole number between ${min} and ${max}`
  return z
    .string()
    .regex(/^\d+$/, message)
    .transform(Number)
    .refine((value) => value >= min && value <= max, message)
}

export const httpUrl = z
  .string()
  .refine(
    (value) => URL.canParse(value) && /^https?:$/.test(new URL(value).protocol),
    'must be an http:// or https:// URL',
  )
  .refine((value) => !URL.canParse(value) || !new URL(value).search, 'must not have a query')
  .transform((value) => new URL(value))
  .refine((url) => !(url.username || url.password || url.hash), 'must not have credentials or a fragment')

/** The URL of an upstream. With the `/v1` of vendors at its end, calls would go to `/v1/v1`. */
export const upstreamUrl = httpUrl.refine(
  (url) => !VERSION_AT_END.test(url.pathname),
  'must not end in /v1, because the path of a call begins with it',
)

/** A public address, as text without slashes at the end. */
export const publicUrl = httpUrl.transform((url) => url.href.replace(/\/+$/, ''))

/** The public address of pages, in the same form. */
export const pagesUrl = publicUrl.refine(
  (url) => new URL(url).pathname === '/',
  'must have no path, because the pages and cookies of the service are at the root of a host',
)

const ENCODED = 'special characters of a password are percent-encoded, such as %23 for #'

export const databaseUrl = withSecret(
  text.refine(
    (url) => url === 'none' || url === 'memory:' || /^embedded:./.test(url) || isPostgresUrl(url),
    `must be postgresql://HOST/NAME with one host, embedded:DIRECTORY, memory: or none; ${ENCODED}`,
  ),
)

export const mailUrl = withSecret(
  text.refine(
    (url) =>
      /^outbox:./.test(url) || (hasScheme(url, ['smtp:', 'smtps:', 'smtp+insecure:']) && new URL(url).hostname !== ''),
    `must be smtp://HOST:PORT, smtps://HOST:PORT, smtp+insecure://HOST:PORT or outbox:DIRECTORY; ${ENCODED}`,
  ),
)

export const redisUrl = withSecret(
  text.refine(
    (url) => hasScheme(url, ['redis:', 'rediss:']) && /^(\/\d*)?$/.test(new URL(url).pathname),
    `must be redis://HOST:PORT or rediss://HOST:PORT, where /NUMBER can follow for a database; ${ENCODED}`,
  ),
)

/** The longest path of a Unix socket that every system takes. */
const MAX_SOCKET_PATH_BYTES = 103

export const socketPath = text.refine(isSocketPath, `must have at most ${MAX_SOCKET_PATH_BYTES} bytes`)

/** Whether a path is short enough for a Unix socket. */
export function isSocketPath(path: string): boolean {
  return Buffer.byteLength(path) <= MAX_SOCKET_PATH_BYTES
}

export const emailAddress = text.regex(/^[^\s@<>"',]+@[^\s@<>"',]+$/, 'must be one email address')

export const domainName = text.regex(/^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/, 'must be a domain name in lower case')

/** A list of origins, separated by commas. */
export const origins = text
  .transform((value) => value.split(',').map((origin) => origin.trim()))
  .refine(
    (list) => list.every(isOrigin),
    'must be origins such as https://app.example.com without a "*", separated by commas',
  )

/** Express's `trust proxy`, checked here because Express itself throws an error that does not name the setting. */
export const trustProxy = text.refine(
  (value) => /^\d{1,3}$/.test(value) || value === 'true' || value.split(',').every((item) => isProxy(item.trim())),
  'must be a number of proxies, a list of IP addresses, CIDR ranges, "loopback", "linklocal" and "uniquelocal" ' +
    'separated by commas, or "true" to trust every peer',
)

function isProxy(item: string): boolean {
  if (['loopback', 'linklocal', 'uniquelocal'].includes(item)) return true
  const [, address = '', prefix] = /^([^/]*)(?:\/(\d{1,3}))?$/.exec(item) ?? []
  const version = isIP(address)
  return version !== 0 && Number(prefix ?? 0) <= (version === 4 ? 32 : 128)
}

/** Whether a text is a URL with one of these schemes, whose user and password can be decoded. */
export function hasScheme(url: string, schemes: readonly string[]): boolean {
  if (!URL.canParse(url) || !url.includes('://')) return false
  const { protocol, username, password } = new URL(url)
  return schemes.includes(protocol) && isPercentEncoded(username) && isPercentEncoded(password)
}

/** Postgres' own clients also take a list of hosts, which node-postgres takes for the name of one. */
export function isPostgresUrl(url: string): boolean {
  return hasScheme(url, ['postgres:', 'postgresql:']) && !new URL(url).hostname.includes(',')
}

function isPercentEncoded(text: string): boolean {
  try {
    decodeURIComponent(text)
    return true
  } catch {
    return false
  }
}

function isOrigin(value: string): boolean {
  return URL.canParse(value) && new URL(value).origin === value && /^https?:/.test(value) && !value.includes('*')
}

/** Whether the host of a URL is an IP address, IPv6 in brackets. */
export function isIpAddress(host: string): boolean {
  return isIP(withoutBrackets(host)) !== 0
}
