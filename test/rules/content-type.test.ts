import { describe, expect, it } from 'vitest'
import { hasBody } from '../../src/http/body.ts'
import { toKnownType } from '../../src/http/validation/content-type.ts'

const JSON_TYPE = 'application/json'
const FORM_TYPE = 'application/x-www-form-urlencoded'
const UNREADABLE = 'application/octet-stream'

describe('toKnownType', () => {
  it.each([
    [JSON_TYPE, JSON_TYPE],
    ['Application/JSON', JSON_TYPE],
    ['application/json; charset=utf-8', JSON_TYPE],
    ['application/json;charset="UTF-8"', JSON_TYPE],
    ['application/json; charset=utf8; v=1', JSON_TYPE],
    ['application/json; v=12345', JSON_TYPE],
    ['application/json;', JSON_TYPE],
    [' application/json ', JSON_TYPE],
    [FORM_TYPE, FORM_TYPE],
    [`${FORM_TYPE}; charset=UTF-8`, FORM_TYPE],
    ['application/json; charset=utf-16', UNREADABLE],
    ['application/json; charset=', UNREADABLE],
    ['application/json; charset = utf-7', UNREADABLE],
    ['application/json; charset=utf-8; charset=utf-7', UNREADABLE],
    ['application/json; charset=utf-8; charset=utf-8', UNREADABLE],
    ['application/json; x="; charset=utf-8"; charset=utf-7', UNREADABLE],
    ['application/json; x="a\\""; charset=utf-8', UNREADABLE],
    ['application/json; charset="utf-7"', UNREADABLE],
    ['application/json; "charset"=utf-7', UNREADABLE],
    ['application/json; charset=utf-8evil', UNREADABLE],
    ['application/json, text/plain', UNREADABLE],
    ['application/problem+json', UNREADABLE],
    ['text/plain', UNREADABLE],
    ['multipart/form-data; boundary=x', UNREADABLE],
    ['x/1', UNREADABLE],
    ['', UNREADABLE],
    ['constructor', UNREADABLE],
  ])('reduces %j to %s', (sent, known) => {
    expect(toKnownType(sent)).toBe(known)
  })

  it('gives the same type for any number of invented parameters', () => {
    const answers = new Set(
      Array.from({ length: 1000 }, (_, index) => toKnownType(`application/json; v=${index}; x${index}=1`)),
    )
    expect([...answers]).toEqual([JSON_TYPE])
  })
})

describe('hasBody', () => {
  it.each<[string, Record<string, string>, boolean]>([
    ['a positive length', { 'content-length': '1' }, true],
    ['chunked encoding', { 'transfer-encoding': 'chunked' }, true],
    ['a length of zero', { 'content-length': '0' }, false],
    ['neither header', {}, false],
  ])('with %s', (_, headers, has) => {
    expect(hasBody({ headers })).toBe(has)
  })
})
