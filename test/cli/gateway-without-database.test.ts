import { createServer } from 'node:http'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { listenOnLoopback } from '../support/loopback.ts'
import { startAtOwnAddress } from '../support/own-address.ts'
import type { TestService } from '../support/service.ts'
import { newMachine } from './machine.ts'
import type { Machine } from './machine.ts'

const MODEL = { id: 'svc/fast', metadata: { displayName: 'Fast', aliases: [], aliasOf: null } }

/** Answers as a gateway without a database does when it is asked for its state, its models and its settings. */
const gateway = createServer((_, res) => {
  res.writeHead(200, { 'content-type': 'application/json', 'x-request-id': 'req_1' })
  res.end(JSON.stringify({ status: 'ok', database: 'disabled', data: [MODEL], config: {} }))
})

let gatewayUrl: string
let service: TestService
let machine: Machine
beforeAll(async () => {
  gatewayUrl = `http://localhost:${await listenOnLoopback(gateway)}`
  service = await startAtOwnAddress({ SVC_POLL_INTERVAL_SECONDS: '1', SVC_GATEWAY_URL: gatewayUrl })
  machine = await newMachine()
  await machine.signIn(service)
})
afterAll(async () => {
  await machine[Symbol.asyncDispose]()
  await service[Symbol.asyncDispose]()
  gateway.closeAllConnections()
  gateway.close()
})

it('svc limits set says that the gateway of the team does not apply the limit', async () => {
  const { status, stderr } = await machine.svc(['limits', 'set', '5', '--per', 'day'])
  expect([status, stderr]).toEqual([
    0,
    `The gateway at ${gatewayUrl} has no database, so it does not apply the limit.\n`,
  ])
})

it('svc keys create says that the gateway of the team refuses the key', async () => {
  const { status, stdout, stderr } = await machine.svc(['keys', 'create', 'nightly', '--print'])
  expect([status, stdout]).toEqual([0, expect.stringMatching(/^svck_[\w-]+\n$/)])
  expect(stderr).toBe(`The gateway at ${gatewayUrl} has no database, so it refuses the key.\n`)
})

it('svc setup opencode makes no key that the gateway of the team refuses', async () => {
  const { status, stderr } = await machine.svc(['setup', 'opencode', '--write'])
  expect([status, stderr]).toEqual([1, expect.stringMatching(/refuses API keys.*Use: svc run opencode\n$/)])
  expect(await service.database.prisma.apiKey.count({ where: { name: { startsWith: 'opencode' } } })).toBe(0)
})
