import { startContractProxy } from './contract/contract-proxy.ts'
import { startService } from './service.ts'
import type { TestService } from './service.ts'

/**
 * Starts a service that can be reached at its own public address, which is that of a proxy: browsers and the command
 * talk to it there, and disposing of it fails when something that they sent or got is not in the contract.
 */
export async function startAtOwnAddress(
  env: Readonly<Record<string, string>> = {},
  host = 'localhost',
): Promise<TestService> {
  const proxy = await startContractProxy()
  const service = await startService({ env: { SVC_BASE_URL: `http://${host}:${proxy.port}`, ...env } })
  proxy.forwardTo(service.port)
  return {
    ...service,
    async [Symbol.asyncDispose]() {
      await service[Symbol.asyncDispose]()
      await proxy[Symbol.asyncDispose]()
    },
  }
}
