import type { Clock } from '../../kernel/clock.ts'
import type { DialectTraits } from '../dialects/dialect.ts'
import type { KeptErrors } from './answer.ts'
import type { Credential } from './headers.ts'
import type { AnswerRewrite, MakeStreamFilter } from './relay.ts'
import type { StreamKeepAlive } from './stream-keep-alive.ts'

/** How the answer of a backend is relayed. */
export type ExchangeOptions = {
  /** The caller's dialect, in which a failure of a stream is reported. */
  readonly dialect: Pick<DialectTraits, 'monitorStream' | 'failureEndsStream' | 'failureAnswer'>
  /** The backend's dialect, in which its errors are written; a stream may begin with one. */
  readonly backendDialect: Pick<DialectTraits, 'readErrorEvent' | 'isPreamble' | 'reasoningRetry'>
  /** Whether the caller asked for a stream. An answer of an unknown content type is then relayed as a stream. */
  readonly wantsStream: boolean
  /** Changes the answer. Null: its bytes pass unchanged. */
  readonly rewrite: AnswerRewrite | null
  /** The service's own credential at the backend, which no error shows. */
  readonly credential: Credential | null
  readonly keepsErrors: KeptErrors
  /** Called when the answer to the caller begins. Nothing of the request is needed any more. */
  readonly onAnswer: (status: number) => void
  /** Removes events of a stream that is not rewritten; null: all of them pass. */
  readonly filter: MakeStreamFilter | null
  /** Keeps rewritten streams alive while the backend is silent. */
  readonly keepAlive: StreamKeepAlive
  /** Receives the bytes of the answer as the backend sent them. */
  readonly observer: { push(chunk: Buffer): void }
  readonly clock: Clock
}
