import { rmSync } from 'node:fs'
import { SEEN_DIRECTORY } from './contract-check.ts'

/** Before all tests: forget what an earlier run has seen. */
export default function clearSeen(): void {
  rmSync(SEEN_DIRECTORY, { recursive: true, force: true })
}
