/** Runs after all tests: fails when the contract documents a status that no test has received. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { readContract, routesOf } from '../../../src/http/contract.ts'
import { SEEN_DIRECTORY } from './contract-check.ts'

const files = existsSync(SEEN_DIRECTORY) ? readdirSync(SEEN_DIRECTORY) : []
const seen = new Set(files.flatMap((file) => readFileSync(path.join(SEEN_DIRECTORY, file), 'utf8').split('\n')))
const documented = routesOf(readContract()).flatMap(({ id, operation }) =>
  Object.keys(operation.responses).map((status) => `${id} ${status}`),
)
const unseen = documented.filter((status) => !seen.has(status))
console.log(`${documented.length - unseen.length} of ${documented.length} documented statuses were seen by a test.`)
if (unseen.length > 0) {
  console.error(`No test received: ${unseen.join(', ')}. Write the test, or remove the status from the contract.`)
  process.exitCode = 1
}
