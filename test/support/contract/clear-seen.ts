import { rmSync } from 'node:fs'
import { SEEN_DIRECTORY } from './contract-check.ts'

/** Runs before all tests: deletes the notes of an earlier run. */
export default function clearSeen(): void {
  rmSync(SEEN_DIRECTORY, { recursive: true, force: true })
}
