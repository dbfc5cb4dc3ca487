import { describe, expect, it } from 'vitest'
import { makeFindPath } from '../../src/http/find-path.ts'

const PATHS = [
  '/v1/models',
  '/v1/models/{id}',
  '/v1/models/latest',
  '/teams/{organization}/{name}',
  '/v1/models/{id}/{part}',
  '/v1/models/{id}/price',
  '/docs/docs.css',
  '/',
]
const findPath = makeFindPath({ paths: Object.fromEntries(PATHS.map((path) => [path, {}])) })

describe('the path of the contract', () => {
  it.each([
    ['/v1/models', '/v1/models', {}],
    ['/v1/models/', '/v1/models', {}],
    ['/', '/', {}],
    ['/v1/models/gpt', '/v1/models/{id}', { id: 'gpt' }],
    ['/v1/models/gpt/', '/v1/models/{id}', { id: 'gpt' }],
    ['/v1/models/vendora%2Flarge', '/v1/models/{id}', { id: 'vendora/large' }],
    ['/teams/acme/core', '/teams/{organization}/{name}', { organization: 'acme', name: 'core' }],
  ])('of %s is %s', (given, path, parameters) => {
    expect(findPath(given)).toMatchObject({ path, parameters })
  })

  it.each([
    ['/v1/models/latest', '/v1/models/latest', {}],
    ['/v1/models/gpt/price', '/v1/models/{id}/price', { id: 'gpt' }],
  ])('of %s, which belongs to two, is the one with fewer parameters: %s', (given, path, parameters) => {
    expect(findPath(given)).toEqual({ path, parameters, operations: {} })
  })

  it.each([
    ['upper case', '/V1/models'],
    ['two slashes at the end', '/v1/models//'],
    ['an empty parameter', '/teams/acme/'],
    ['one segment more', '/v1/models/gpt/more/more'],
    ['another character for a dot', '/docs/docsxcss'],
    ['a parameter that cannot be decoded', '/v1/models/%E0%A4%A'],
    ['no such path', '/v1'],
    ['the name of a member of all objects', '/constructor'],
  ])('does not exist for %s', (_, given) => {
    expect(findPath(given)).toBeNull()
  })
})
