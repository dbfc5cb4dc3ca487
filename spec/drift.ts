/**
 * `npm run drift` fails when generated/ differs from what is committed (new and deleted files included), and when the
 * contract has changed since its last release by more than its version number says.
 */
import { execFileSync } from 'node:child_process'
import { compare, CURRENT, describeChange, RELEASED } from './compare.ts'

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
  const { changes, versions, versionMistake } = compare(RELEASED, CURRENT)
  const breaking = changes.filter(({ impact }) => impact === 'major').map(describeChange)
  if (breaking.length > 0) {
    console.error(`These changes break integrators that use release ${versions.released} of the contract:`)
    for (const line of new Set(breaking)) console.error(`  ${line}`)
  }
  if (versionMistake !== null) {
    fail(
      `${versionMistake}\nUndo the change, or raise the version in spec/main.tsp and run "npm run release:contract".`,
    )
  }
}

function fail(message: string): void {
  console.error(message)
  process.exitCode = 1
}
