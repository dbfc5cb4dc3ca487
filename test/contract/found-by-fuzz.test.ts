import { afterAll, beforeAll, expect, it } from 'vitest'
import { readContract, routesOf } from '../../src/http/contract.ts'
import { startService } from '../support/service.ts'
import type { TestService } from '../support/service.ts'

let service: TestService

beforeAll(async () => {
  service = await startService()
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
