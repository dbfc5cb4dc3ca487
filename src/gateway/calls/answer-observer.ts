import type { Dialect } from '../dialects/dialect.ts'
import { DIALECTS } from '../dialects/dialects.ts'
import { scanMetadata } from '../dialects/passing/metadata-scanner.ts'
import type { AnswerMetadata } from '../dialects/passing/metadata-scanner.ts'
import { UsageScanner } from '../dialects/tokens/usage-scanner.ts'
import { FREE_USAGE } from '../dialects/tokens/usage.ts'
import type { Usage } from '../dialects/tokens/usage.ts'
import { toServedTier } from '../prices/service-tier.ts'
import type { ServiceTier } from '../prices/service-tier.ts'

/** What an answer has reported of itself. */
export type Observed = {
  readonly usage: Usage
  /** The bytes behind the last report of the usage, whose tokens are not in it; to the precision of a chunk. */
  readonly unreportedBytes: number
  /** Null where it was not read: the call is not traced, and its price does not depend on it. */
  readonly metadata: AnswerMetadata | null
  /** As the answer says, else as the request asks for. */
  readonly serviceTier: ServiceTier
}

/** Reads an answer of a backend while its bytes pass. */
export type AnswerObserver = {
  push(chunk: Buffer): void
  end(): Observed
}

type Options = {
  /** A count of tokens uses none itself, although its answer names the tokens that it has counted. */
  readonly isCount: boolean
  readonly isTraced: boolean
  readonly askedTier: ServiceTier
}

/** Makes an observer for one answer in the dialect of its backend. */
export function observeAnswer(dialect: Dialect, { isCount, isTraced, askedTier }: Options): AnswerObserver {
  const usage = new UsageScanner()
  const scanner = isTraced || askedTier !== 'standard' ? scanMetadata(DIALECTS[dialect]) : null
  return {
    push(chunk) {
      usage.push(chunk)
      scanner?.push(chunk)
    },
    end() {
      const metadata = scanner && scanner.end()
      return {
        usage: isCount ? FREE_USAGE : usage.end(),
        unreportedBytes: isCount ? 0 : usage.unreportedBytes(),
        metadata,
        serviceTier: toServedTier(askedTier, metadata?.serviceTier ?? null),
      }
    },
  }
}
