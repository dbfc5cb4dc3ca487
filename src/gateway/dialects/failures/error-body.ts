import { isObject, parseShallowJson } from '../../../kernel/json.ts'
import type { Json } from '../json/read-json.ts'

/**
 * Parses the body of an error. Servers that were asked for a stream also write it as an event of one. Undefined when it
 * is not JSON or is nested too deep.
 */
export function parseErrorBody(body: Buffer): unknown {
  const text = body.toString('utf8')
  const whole = parseShallowJson(text)
  return whole === undefined ? parseShallowJson(EVENT_DATA.exec(text)?.[1] ?? '') : whole
}

/** The body of an error; its text where it is not JSON. */
export function parseError(body: Buffer): unknown {
  return parseErrorBody(body) ?? body.toString('utf8')
}

/** Whether an error body has its message in `error.message`, where clients of every dialect read it. */
export function hasErrorMessage(body: unknown): body is Json & { readonly error: Json } {
  return isObject(body) && isObject(body.error) && typeof body.error.message === 'string'
}

/** Whether clients of every dialect find the message of an error whose bytes they get. */
export function showsMessage(body: Buffer): boolean {
  return hasErrorMessage(parseShallowJson(body.toString('utf8')))
}

/** The first data of an event stream that can be an error (WHATWG HTML, section 9.2.6). */
const EVENT_DATA = /^data: ?(\{.*)$/m
