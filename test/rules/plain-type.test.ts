import { describe, expect, it } from 'vitest'
import { hasBody, plainType } from '../../src/http/body.ts'

const JSON_TYPE = 'application/json'
const FORM_TYPE = 'application/x-www-form-urlencoded'
const UNREADABLE = 'application/octet-stream'

describe('plainType', () => {
  it.each([
    [JSON_TYPE, JSON_TYPE],
    ['Application/JSON', JSON_TYPE],
    ['application/json; charset=utf-8', JSON_TYPE],
    ['application/json;charset="UTF-8"', JSON_TYPE],
    ['application/json; charset=utf8; v=1', JSON_TYPE],
    ['application/json; v=12345', JSON_TYPE],
    [' application/json ', JSON_TYPE],
    [FORM_TYPE, FORM_TYPE],
    [`${FORM_TYPE}; charset=UTF-8`, FORM_TYPE],
    ['application/json; charset=utf-16', UNREADABLE],
    ['application/json; charset=', UNREADABLE],
    ['application/json; charset=utf-8evil', UNREADABLE],
    ['application/json, text/plain', UNREADABLE],
    ['application/problem+json', UNREADABLE],
    ['text/plain', UNREADABLE],
    ['multipart/form-data; boundary=x', UNREADABLE],
    ['x/1', UNREADABLE],
    ['', UNREADABLE],
    ['constructor', UNREADABLE],
  ])('%j is %s', (sent, plain) => {
    expect(plainType(sent)).toBe(plain)
  })

  it('has three answers, however many types strangers make up', () => {
    const answers = new Set(
      Array.from({ length: 1000 }, (_, index) => plainType(`application/json; v=${index}; x/${index}`)),
    )
    expect([...answers]).toEqual([JSON_TYPE])
  })
})

describe('hasBody', () => {
  it.each<[string, Record<string, string>, boolean]>([
    ['a length', { 'content-length': '1' }, true],
    ['chunks', { 'transfer-encoding': 'chunked' }, true],
    ['a length of nothing', { 'content-length': '0' }, false],
    ['nothing said', {}, false],
  ])('%s', (_, headers, has) => {
    expect(hasBody({ headers })).toBe(has)
  })
})
