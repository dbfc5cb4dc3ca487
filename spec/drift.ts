/**
 * `npm run drift` generates again, and fails when generated/ was not what spec/ and prisma/ generate (new and deleted
 * files included), when the contract has changed since its last release by more than its version number says, and when
 * a change breaks integrators and is not accepted. Below 1.0, the version number alone would allow every such change.
 */
import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { ACCEPTED, compare, CURRENT, findBreakingMistakes, RELEASED } from './compare.ts'
import type { Accepted } from './compare.ts'

await checkGenerated()
checkRelease()

async function checkGenerated(): Promise<void> {
  const before = readGenerated()
  await import('./generate.ts')
  const after = readGenerated()
  const names = [...new Set([...before.keys(), ...after.keys()])]
  const changed = names.filter((name) => before.get(name) !== after.get(name))
  if (changed.length > 0) fail(`generated/ was not what spec/ and prisma/ generate. Commit it:\n${changed.join('\n')}`)
}

/** The text of each file in generated/, by its path. */
function readGenerated(): ReadonlyMap<string, string> {
  const folder = path.join(import.meta.dirname, '../generated')
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
  const paths = files.map(({ parentPath, name }) => path.join(parentPath, name))
  return new Map(paths.map((file) => [path.relative(folder, file), readFileSync(file, 'utf8')]))
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
