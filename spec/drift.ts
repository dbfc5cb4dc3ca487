/** Says which files of generated/ differ from what was committed, new and deleted ones included, and fails then. */
import { execFileSync } from 'node:child_process'

const changed = execFileSync('git', ['status', '--porcelain', '--untracked-files=all', 'generated'], {
  encoding: 'utf8',
}).trimEnd()
if (changed) {
  console.error(`generated/ is not what spec/ and prisma/ generate. Run "npm run generate" and commit:\n${changed}`)
  process.exitCode = 1
}
