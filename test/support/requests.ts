import { request } from 'node:http'
import type { IncomingHttpHeaders } from 'node:http'

type Headers = Readonly<Record<string, string>>

/** The header that carries an access token or an API key. */
export function bearerOf(credential: string): { authorization: string } {
  return { authorization: `Bearer ${credential}` }
}

/** A POST with a JSON body. */
export function json(body: unknown, headers: Headers = {}): RequestInit {
  return { method: 'POST', headers: { 'content-type': 'application/json', ...headers }, body: JSON.stringify(body) }
}

/** A request with this method; with a JSON body where there is one. */
export function withMethod(method: string, headers: Headers, body?: object): RequestInit {
  return body ? { ...json(body, headers), method } : { method, headers }
}

export type FormFields = Readonly<Record<string, string | readonly string[]>>

/** A POST of a form, as a browser sends it when it wants a page back. A field with several values is sent as often. */
export function form(fields: FormFields | [string, string][], headers: Headers = {}): RequestInit {
  const entries = Array.isArray(fields)
    ? fields
    : Object.entries(fields).flatMap(([name, values]) => [values].flat().map((value) => [name, value]))
  return { method: 'POST', headers: { accept: 'text/html', ...headers }, body: new URLSearchParams(entries) }
}

/** A POST with these bytes, unchanged. */
export function bytes(body: BodyInit, contentType: string, headers: Headers = {}): RequestInit {
  return { method: 'POST', headers: { 'content-type': contentType, ...headers }, body }
}

type Envelope = { readonly error: { readonly code: string; readonly message: string } }

/** Status and error code of an answer, such as `401 unauthorized`; the status alone where there is no code. */
export async function outcomeOf(response: Response): Promise<string> {
  if (response.ok || !response.headers.get('content-type')?.startsWith('application/json'))
    return String(response.status)
  // Under /oauth, `error` is the code itself (RFC 6749, section 5.2).
  const { error } = (await response.clone().json()) as Partial<Envelope> | { error?: string }
  const code = typeof error === 'string' ? error : error?.code
  return code ? `${response.status} ${code}` : String(response.status)
}

/** The message of an error answer. */
export async function messageOf(response: Response): Promise<string> {
  const { error } = (await response.clone().json()) as Envelope
  return error.message
}

/**
 * The answer of a step of a test's preparation; rejects with the step's name, status and body when it is not a success.
 */
export async function expectOk(step: string, answer: Response | Promise<Response>): Promise<Response> {
  const response = await answer
  if (response.ok) return response
  throw new Error(`${step} was refused: ${response.status} ${await response.text()}`)
}

/** The JSON body of a step of a test's preparation; rejects as `expectOk` does. */
export async function expectJson<T>(step: string, answer: Response | Promise<Response>): Promise<T> {
  return (await (await expectOk(step, answer)).json()) as T
}

type SdkResult<T> = { readonly data?: T; readonly error?: unknown; readonly response: Response }

/**
 * What the SDK read from the answer of a step of a test's preparation; rejects with the step's name, status and error.
 */
export function expectData<T>(step: string, { data, error, response }: SdkResult<T>): T {
  if (data !== undefined) return data
  throw new Error(`${step} was refused: ${response.status} ${JSON.stringify(error)}`)
}

export type RawAnswer = {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly rawHeaders: readonly string[]
  readonly body: string
}

type RawRequest = {
  readonly method?: string
  readonly path: string
  /** Name, value, name, value; names may repeat. */
  readonly headers?: readonly string[]
  readonly body?: string | Buffer
}

/**
 * Sends a request that `fetch` would change or refuse: repeated headers, another Host, a path that is not normalised.
 */
export function ask(port: number, { method = 'GET', path, headers = [], body }: RawRequest): Promise<RawAnswer> {
  const named = headers.filter((_, index) => index % 2 === 0).map((name) => name.toLowerCase())
  const sent = [
    ...(named.includes('host') ? [] : ['Host', 'localhost:8787']),
    ...(body === undefined ? [] : ['Content-Length', String(Buffer.byteLength(body))]),
    ...headers,
  ]
  return new Promise((resolve, reject) => {
    const asking = request({ host: '127.0.0.1', port, method, path, headers: sent, agent: false }, (answer) => {
      const chunks: Buffer[] = []
      answer.on('data', (chunk: Buffer) => chunks.push(chunk))
      answer.on('error', reject)
      answer.on('end', () =>
        resolve({
          status: answer.statusCode ?? 0,
          headers: answer.headers,
          rawHeaders: answer.rawHeaders,
          body: Buffer.concat(chunks).toString('utf8'),
        }),
      )
    })
    asking.on('error', reject)
    asking.end(body)
  })
}

/** Calls `start` this many times without waiting in between; resolves when all have ended. */
export function atOnce<T>(times: number, start: (index: number) => Promise<T>): Promise<T[]> {
  return Promise.all(Array.from({ length: times }, (_, index) => start(index)))
}

/** The number of times that each outcome occurs. */
export function tally(outcomes: readonly string[]): Record<string, number> {
  const counted: Record<string, number> = {}
  for (const outcome of outcomes) counted[outcome] = (counted[outcome] ?? 0) + 1
  return counted
}
