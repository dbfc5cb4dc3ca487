/**
 * `npm run drift` fails when generated/ differs from what is committed (new and deleted files included), when the
 * contract has changed since its last release by more than its version number says, and when a change breaks
 * integrators and is not accepted. Below 1.0, the version number alone would allow every such change.
 */
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { ACCEPTED, compare, CURRENT, findBreakingMistakes, RELEASED } from './compare.ts'
import type { Accepted } from './compare.ts'

checkGenerated()
checkRelease()

function checkGenerated(): void {
  const changed = execFileSync('git', ['status', '--porcelain', '--untracked-files=all', 'generated'], {
    encoding: 'utf8',
  }).trimEnd()
  if (changed) {
    fail(`generated/ is not what spec/ and prisma/ generate. Run "npm run generate" and commit:\n${changed}`)
  }
}

function checkRelease(): void {
  const comparison = compare(RELEASED, CURRENT)
  // This file is part of this project.
  const accepted = JSON.parse(readFileSync(ACCEPTED, 'utf8')) as Accepted[]
  findBreakingMistakes(comparison, accepted).forEach(fail)
  if (comparison.versionMistake !== null) {
    fail(
      `${comparison.versionMistake}\n` +
        'Undo the change, or raise the version in spec/main.tsp and run "npm run release:contract".',
    )
  }
}

function fail(message: string): void {
  console.error(message)
  process.exitCode = 1
}
