import type { Dialect } from '../dialects/dialect.ts'
import { DIALECTS } from '../dialects/dialects.ts'
import { scanEnding } from '../dialects/ending-scanner.ts'
import type { AnswerEnding } from '../dialects/ending-scanner.ts'
import { scanUsage } from '../dialects/usage-scanner.ts'
import type { Usage } from '../dialects/usage.ts'

/** What an answer has reported of itself. */
export type Observed = {
  readonly usage: Usage
  /** The bytes behind the last report of the usage, whose tokens are not in it; to the precision of a chunk. */
  readonly unreportedBytes: number
  /** Null where the call is not traced. */
  readonly answerEnding: AnswerEnding | null
}

/** Reads an answer of a backend while its bytes pass. */
export type AnswerObserver = {
  push(chunk: Buffer): void
  end(): Observed
}

/** Makes an observer for one answer in the dialect of its backend. */
export function observeAnswer(dialect: Dialect, { isTraced }: { readonly isTraced: boolean }): AnswerObserver {
  const usage = scanUsage()
  const ending = isTraced ? scanEnding(DIALECTS[dialect]) : null
  return {
    push(chunk) {
      usage.push(chunk)
      ending?.push(chunk)
    },
    end: () => ({
      usage: usage.end(),
      unreportedBytes: usage.unreportedBytes(),
      answerEnding: ending && ending.end(),
    }),
  }
}
