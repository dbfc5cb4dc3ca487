import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { readContract, routesOf } from '../../src/http/contract.ts'
import { bearerOf, form, outcomeOf } from '../support/requests.ts'
import { startService } from '../support/service.ts'
import type { TestService } from '../support/service.ts'

let service: TestService
let signedIn: { authorization: string }

beforeAll(async () => {
  service = await startService()
  signedIn = bearerOf((await service.signIn('ada@example.com')).accessToken)
})
afterAll(() => service[Symbol.asyncDispose]())

const withoutInput = routesOf(readContract())
  .filter(({ method, path }) => method === 'get' && !path.includes('{'))
  .map(({ path }) => path)

it.each(withoutInput)(
  'GET %s answers as the contract says when the query has an undeclared parameter',
  async (path) => {
    const response = await service.fetch(`${path}?undeclared=1`, { redirect: 'manual' })
    await response.arrayBuffer()
    expect(response.status).not.toBe(500)
  },
)

type Parameter = { readonly $ref?: string; readonly name?: string; readonly in?: string; readonly schema?: Schema }
type Schema = { readonly type?: string; readonly format?: string }

const shared = readContract().components.parameters as Readonly<Record<string, Parameter>>
const toParameter = (given: Parameter) => (given.$ref ? shared[given.$ref.split('/').at(-1) ?? ''] : given) ?? {}

/** Each parameter with the operation that has it. */
const parametersOf = routesOf(readContract()).flatMap(({ method, path, operation: { parameters = [] } }) =>
  (parameters as Parameter[]).map((given) => ({ method: method.toUpperCase(), path, ...toParameter(given) })),
)

/** Sends a request with a value for each parameter of the path. */
const send = (method: string, path: string, value: string) =>
  service.fetch(path.replace('{team}', '%40acme%2Fcore').replaceAll(/\{\w+\}/g, value), {
    method,
    headers: { ...signedIn, 'content-type': 'application/json' },
    body: method === 'GET' || method === 'DELETE' ? null : '{}',
  })

describe('a number in the query that is larger than any', () => {
  const numbers = parametersOf.filter((parameter) => parameter.in === 'query' && parameter.schema?.type === 'integer')

  it.each(numbers)('is refused: $name of $method $path', async ({ method, path, name = '' }) => {
    for (const value of ['Infinity', '-Infinity', '1e309'])
      expect(await outcomeOf(await send(method, `${path}?${name}=${value}`, '')), value).toBe('400 invalid_request')
  })
})

describe('an id in another form than that of the database', () => {
  const URN = 'urn:uuid:01939c2f-7b6c-7d4e-9f50-1b2c3d4e5f60'
  const ids = parametersOf.filter((parameter) => parameter.in === 'path' && parameter.schema?.format === 'uuid')

  it.each(ids)('is refused: $name of $method $path', async ({ method, path }) => {
    expect(await outcomeOf(await send(method, path, URN))).toBe('400 invalid_request')
  })

  it('is refused in the form of a page', async () => {
    const answer = await service.fetch('/device', form({ action: 'revoke-device', sessionId: URN }, signedIn))
    expect(answer.status).toBe(400)
  })
})
