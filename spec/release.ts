/**
 * `npm run release:contract`: makes the contract as it is now the one that later changes are held to: spec/released/openapi.json, and a
 * section of spec/released/CHANGELOG.md with what has changed. Refuses a version that does not say enough.
 */
import { copyFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { compare, CURRENT, describeChange, RELEASED } from './compare.ts'
import type { Change } from './compare.ts'

const CHANGELOG = path.join(path.dirname(RELEASED), 'CHANGELOG.md')
const TITLE = '# Releases of the contract\n'

release()

function release(): void {
  const comparison = existsSync(RELEASED) ? compare(RELEASED, CURRENT) : null
  if (comparison?.versionMistake) {
    console.error(
      `${comparison.versionMistake}\nRaise the version in spec/main.tsp, run "npm run generate", and try again.`,
    )
    process.exitCode = 1
    return
  }
  if (comparison && comparison.changes.length === 0) {
    console.log('Nothing has changed since the last release.')
    return
  }
  // The project's own document.
  const { info } = JSON.parse(readFileSync(CURRENT, 'utf8')) as { info: { version: string } }
  mkdirSync(path.dirname(RELEASED), { recursive: true })
  copyFileSync(CURRENT, RELEASED)
  const earlier = existsSync(CHANGELOG) ? readFileSync(CHANGELOG, 'utf8').slice(TITLE.length) : ''
  writeFileSync(CHANGELOG, `${TITLE}\n${section(info.version, comparison?.changes ?? null)}${earlier}`)
  console.log(`Released version ${info.version} of the contract.`)
}

function section(version: string, changes: readonly Change[] | null): string {
  const head = `## ${version}\n\n`
  if (!changes) return `${head}The first release.\n`
  const listed = (['major', 'minor'] as const).map((impact) => {
    const lines = changes.filter((change) => change.impact === impact).map((change) => `- ${describeChange(change)}`)
    return lines.length > 0
      ? `${impact === 'major' ? 'Breaking' : 'Added'}:\n\n${[...new Set(lines)].join('\n')}\n`
      : ''
  })
  const text = listed.filter(Boolean).join('\n')
  return head + (text || 'Words only.\n')
}
