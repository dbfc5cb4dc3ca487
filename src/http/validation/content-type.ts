import type { RequestHandler } from 'express'

export const JSON_TYPE = 'application/json'
export const FORM_TYPE = 'application/x-www-form-urlencoded'

/** Stands for every media type that this service does not read. */
const UNREADABLE_TYPE = 'application/octet-stream'

/**
 * Reduces `Content-Type` to one of three media types. The validator compiles and keeps a checker for each distinct
 * value, so a client that sends `x/1`, `x/2`, ... would otherwise fill the memory.
 */
export const normalizeContentType: RequestHandler = (req, _res, next) => {
  const sent = req.headers['content-type']
  if (sent !== undefined)
    req.headers['content-type'] = isAmbiguous(req.rawHeaders) ? UNREADABLE_TYPE : toKnownType(sent)
  next()
}

/**
 * Whether a request has two different `Content-Type` headers: Node reads the first one, another server may read the
 * last.
 */
function isAmbiguous(rawHeaders: readonly string[]): boolean {
  let first: string | undefined
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] ?? ''
    if (name.length !== 'content-type'.length || name.toLowerCase() !== 'content-type') continue
    first ??= rawHeaders[at + 1]
    if (rawHeaders[at + 1] !== first) return true
  }
  return false
}

/** One parameter of a media type (RFC 9110, section 5.6.6); a quoted value here has no escapes. */
const PARAMETER = /^\s*([\w.+-]+)=("[^"\\]*"|[\w.+/-]+)\s*$/

/**
 * The media type without parameters when this service reads it, else `application/octet-stream`. JSON and forms are
 * UTF-8 (RFC 8259, section 8.1; WHATWG URL, section 5.1). A header that names another charset, or one that parsers
 * could read differently (two charsets, spaces around `=`), is not readable: an upstream could read another message
 * than was checked.
 */
export function toKnownType(sent: string): string {
  if (sent === JSON_TYPE) return sent
  const [type = '', ...parameters] = sent.toLowerCase().split(';')
  const isKnown = type.trim() === JSON_TYPE || type.trim() === FORM_TYPE
  return isKnown && areUtf8(parameters) ? type.trim() : UNREADABLE_TYPE
}

function areUtf8(parameters: readonly string[]): boolean {
  let charsets = 0
  for (const parameter of parameters.filter((text) => text.trim() !== '')) {
    const [, name, value = ''] = PARAMETER.exec(parameter) ?? []
    if (name === undefined) return false
    if (name !== 'charset') continue
    charsets += 1
    if (!/^"?utf-?8"?$/.test(value)) return false
  }
  return charsets <= 1
}
