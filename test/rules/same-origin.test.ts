import type { Request, Response } from 'express'
import { describe, expect, it } from 'vitest'
import { sameOrigin } from '../../src/http/same-origin.ts'
import { ApiError } from '../../src/http/errors.ts'

const guard = sameOrigin(['https://svc.example.com', 'https://app.example.com'])

/** What the guard lets through: undefined, or the code of its refusal. */
function refusalOf(method: string, headers: Record<string, string>): string | undefined {
  let refusal: string | undefined
  // It reads method and headers only.
  guard({ method, headers } as unknown as Request, {} as Response, (error?: unknown) => {
    refusal = error instanceof ApiError ? error.code : undefined
  })
  return refusal
}

describe('sameOrigin', () => {
  it.each<[string, Record<string, string>]>([
    ['our own page', { origin: 'https://svc.example.com' }],
    ['an origin that the operator allows', { origin: 'https://app.example.com', 'sec-fetch-site': 'cross-site' }],
    ['a program, which says nothing', {}],
    ['our own page in a browser that sends no Origin', { 'sec-fetch-site': 'same-origin' }],
    ['our own page with Referrer-Policy: no-referrer', { origin: 'null', 'sec-fetch-site': 'same-origin' }],
    ['a person who typed the address', { 'sec-fetch-site': 'none' }],
  ])('lets %s through', (_, headers) => {
    expect(refusalOf('POST', headers)).toBeUndefined()
  })

  it.each<[string, Record<string, string>]>([
    ['another site', { origin: 'https://evil.example' }],
    ['a page without an origin', { origin: 'null' }],
    ['another site’s page without an origin', { origin: 'null', 'sec-fetch-site': 'cross-site' }],
    ['a sibling’s page without an origin', { origin: 'null', 'sec-fetch-site': 'same-site' }],
    ['an empty origin', { origin: '' }],
    ['a host that begins like ours', { origin: 'https://svc.example.com.evil.example' }],
    ['a host that ends like ours', { origin: 'https://evilsvc.example.com' }],
    ['a sub-domain', { origin: 'https://x.svc.example.com' }],
    ['our host over http', { origin: 'http://svc.example.com' }],
    ['our host on another port', { origin: 'https://svc.example.com:8443' }],
    ['our host in capitals', { origin: 'https://SVC.example.com' }],
    ['our host with the default port', { origin: 'https://svc.example.com:443' }],
    ['our host with a slash', { origin: 'https://svc.example.com/' }],
    ['two origins', { origin: 'https://svc.example.com, https://evil.example' }],
    ['another site that hides its origin', { 'sec-fetch-site': 'cross-site' }],
    ['a sibling host that hides its origin', { 'sec-fetch-site': 'same-site' }],
    ['another site that claims to be ours', { origin: 'https://evil.example', 'sec-fetch-site': 'same-origin' }],
  ])('refuses %s', (_, headers) => {
    for (const method of ['POST', 'PUT', 'PATCH', 'DELETE'])
      expect(refusalOf(method, headers), method).toBe('forbidden')
  })

  it.each(['GET', 'HEAD', 'OPTIONS'])('lets %s through from anywhere: it changes nothing', (method) => {
    expect(refusalOf(method, { origin: 'https://evil.example' })).toBeUndefined()
  })
})
