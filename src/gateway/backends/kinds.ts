import type { ErrorCode } from '../../http/errors.ts'
import type { NoAnswer } from '../exchange/send.ts'
import type { BackendKind } from './table.ts'

/** What differs between the kinds of backends. */
export type KindTraits = {
  /** Its name in messages to callers. */
  readonly title: string
  /**
   * Answers name the backend's model and are rewritten to name the service's model. Otherwise their bytes pass
   * unchanged.
   */
  readonly isRenamed: boolean
  /** The backend closes its connection after each stream, so the connection is not used again. */
  readonly closesAfterStream: boolean
  /** Its reasoning is sealed for callers of another dialect, because the backend requires it back unchanged. */
  readonly isSealed: boolean
  /** Its errors keep their status in another dialect; otherwise the status comes from the table of failures. */
  readonly keepsStatus: boolean
  /** It refuses a conversation with content that it did not sign itself (`dialects/unsigned-content.ts`). */
  readonly refusesUnsignedContent: boolean
  /** Price lists have prices of its models. */
  readonly hasListPrices: boolean
  /** It costs nothing and is not another company's, so a caller whose token cannot be renewed may use it. */
  readonly isLocal: boolean
  /** The error code for the caller when the backend gives no answer. */
  readonly failureCodes: Readonly<Record<NoAnswer, ErrorCode>>
}

/** The traits of each kind of backend. */
export const BACKEND_KINDS: Readonly<Record<BackendKind, KindTraits>> = {
  vendor: {
    title: 'upstream',
    isRenamed: false,
    closesAfterStream: false,
    isSealed: true,
    keepsStatus: false,
    refusesUnsignedContent: true,
    isLocal: false,
    hasListPrices: true,
    failureCodes: { unreachable: 'upstream_failed', failed: 'upstream_failed', timeout: 'upstream_timeout' },
  },
  engine: {
    title: 'local worker',
    isRenamed: true,
    // llama.cpp closes its connection after each stream without announcing it. A call that is sent on that connection
    // right away would be lost.
    closesAfterStream: true,
    isSealed: false,
    keepsStatus: true,
    refusesUnsignedContent: false,
    isLocal: true,
    hasListPrices: false,
    failureCodes: { unreachable: 'model_unavailable', failed: 'upstream_failed', timeout: 'upstream_timeout' },
  },
}
