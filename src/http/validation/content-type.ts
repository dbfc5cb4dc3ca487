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
  if (sent !== undefined) req.headers['content-type'] = toKnownType(sent)
  next()
}

/**
 * The media type without parameters when this service reads it, else `application/octet-stream`. JSON and forms are
 * UTF-8 (RFC 8259, section 8.1; WHATWG URL, section 5.1), so a body that names another charset is not readable.
 */
export function toKnownType(sent: string): string {
  const [type = '', ...parameters] = sent.toLowerCase().split(';')
  const charset = parameters.map((parameter) => parameter.trim()).find((parameter) => parameter.startsWith('charset='))
  const isUtf8 = charset === undefined || /^charset="?utf-?8"?$/.test(charset)
  return isUtf8 && [JSON_TYPE, FORM_TYPE].includes(type.trim()) ? type.trim() : UNREADABLE_TYPE
}
