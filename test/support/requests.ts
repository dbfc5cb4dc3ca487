import { request } from 'node:http'
import type { IncomingHttpHeaders } from 'node:http'

type Headers = Readonly<Record<string, string>>

/** A POST with a JSON body. */
export function json(body: unknown, headers: Headers = {}): RequestInit {
  return { method: 'POST', headers: { 'content-type': 'application/json', ...headers }, body: JSON.stringify(body) }
}

/** A POST of a form, as a browser that shows a page sends it. */
export function form(fields: Record<string, string> | [string, string][], headers: Headers = {}): RequestInit {
  return { method: 'POST', headers: { accept: 'text/html', ...headers }, body: new URLSearchParams(fields) }
}

/** A POST with these bytes, whatever they are. */
export function bytes(body: BodyInit, contentType: string, headers: Headers = {}): RequestInit {
  return { method: 'POST', headers: { 'content-type': contentType, ...headers }, body }
}

type Envelope = { readonly error: { readonly code: string; readonly message: string } }

/** `401 unauthorized`: status and code of an answer, or the status alone where it is no error. */
export async function outcomeOf(response: Response): Promise<string> {
  if (response.ok || !response.headers.get('content-type')?.startsWith('application/json'))
    return String(response.status)
  // Under /oauth the code stands alone, as the standards have it.
  const { error } = (await response.clone().json()) as Partial<Envelope> | { error?: string }
  const code = typeof error === 'string' ? error : error?.code
  return code ? `${response.status} ${code}` : String(response.status)
}

/** The message of an error. */
export async function messageOf(response: Response): Promise<string> {
  const { error } = (await response.clone().json()) as Envelope
  return error.message
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
  /** Name, value, name, value: repeated and odd ones too. */
  readonly headers?: readonly string[]
  readonly body?: string | Buffer
}

/** A request that `fetch` would not send: repeated headers, another Host, a path as it is. */
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

/** `start` as often as said, all at once. */
export function atOnce<T>(times: number, start: (index: number) => Promise<T>): Promise<T[]> {
  return Promise.all(Array.from({ length: times }, (_, index) => start(index)))
}

/** How often each outcome is among these. */
export function tally(outcomes: readonly string[]): Record<string, number> {
  const counted: Record<string, number> = {}
  for (const outcome of outcomes) counted[outcome] = (counted[outcome] ?? 0) + 1
  return counted
}
