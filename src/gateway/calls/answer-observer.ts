import type { Dialect } from '../dialects/dialect.ts'
import { DIALECTS } from '../dialects/dialects.ts'
import { scanEnding } from '../dialects/ending-scanner.ts'
import type { AnswerEnding } from '../dialects/ending-scanner.ts'
import { scanUsage } from '../dialects/usage-scanner.ts'
import type { Usage } from '../dialects/usage.ts'

/** Reads an answer of a backend while its bytes pass. */
export type AnswerObserver = {
  push(chunk: Buffer): void
  /** What the answer has reported. `answerEnding`: null where the call is not traced. */
  end(): { readonly usage: Usage; readonly answerEnding: AnswerEnding | null }
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
    end: () => ({ usage: usage.end(), answerEnding: ending && ending.end() }),
  }
}
