import type { ErrorCode } from '../../http/errors.ts'
import type { NoAnswer } from '../exchange/send.ts'
import type { BackendKind } from './table.ts'

export type KindTraits = {
  /** How messages to callers call it. */
  readonly title: string
  /**
   * Answers name the backend's model and are rewritten to name the service's model. Otherwise their bytes pass
   * unchanged.
   */
  readonly isRenamed: boolean
  /** A stream takes its connection with it. */
  readonly closesAfterStream: boolean
  /** Its reasoning is sealed for callers of another dialect, because it wants that back unchanged. */
  readonly isSealed: boolean
  /** Its errors keep their status in another dialect; otherwise the status comes from the table of failures. */
  readonly keepsStatus: boolean
  /** It refuses a conversation that contains reasoning of another kind of backend. */
  readonly refusesLocalReasoning: boolean
  /** What the caller gets when there is no answer. */
  readonly failureCodes: Readonly<Record<NoAnswer, ErrorCode>>
}

/** What differs from one kind of backend to the next. */
export const BACKEND_KINDS: Readonly<Record<BackendKind, KindTraits>> = {
  vendor: {
    title: 'upstream',
    isRenamed: false,
    closesAfterStream: false,
    isSealed: true,
    keepsStatus: false,
    refusesLocalReasoning: true,
    failureCodes: { unreachable: 'upstream_failed', failed: 'upstream_failed', timeout: 'upstream_timeout' },
  },
  engine: {
    title: 'local worker',
    isRenamed: true,
    // llama.cpp closes its connection after each stream without saying so. A call that came at once would be lost on
    // it.
    closesAfterStream: true,
    isSealed: false,
    keepsStatus: true,
    refusesLocalReasoning: false,
    failureCodes: { unreachable: 'model_unavailable', failed: 'upstream_failed', timeout: 'upstream_timeout' },
  },
}
