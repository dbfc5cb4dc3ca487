import { ApiError } from '../../http/errors.ts'
import { ByteChunks } from '../../kernel/pieces.ts'
import type { StreamFailure } from '../dialects/dialect.ts'
import { parseError } from '../dialects/failures/error-body.ts'
import { backendFailed, isPage, readFailure } from '../dialects/failures/failure.ts'
import type { Failure } from '../dialects/failures/failure.ts'
import { findRefusedPart } from '../dialects/refused-parts.ts'
import type { RefusedPart } from '../dialects/refused-parts.ts'
import { toUntouchedAnswer, writeHead, writeWhole } from './answer.ts'
import type { AnswerHead, KeptAnswer, WholeAnswer } from './answer.ts'
import { ChunkWriter } from './chunk-writer.ts'
import { isCredentialRefused, maskCredential, readOperatorsFault } from './credential-refusal.ts'
import { EndTimeout } from './end-timeout.ts'
import { breakConnection } from './stream-failures.ts'
import type { ExchangeOptions, Relay, RelayedExchange, StreamCollector } from './relay.ts'
import { keepFailure } from './reported-failure.ts'
import type { FailureNeeds } from './reported-failure.ts'

/** An answer up to this size is sent in one write; a larger one is relayed chunk by chunk. */
const MAX_HELD_BYTES = 1024 * 1024

type Needs = FailureNeeds & Pick<ExchangeOptions, 'rewrite' | 'keepsErrors'>

const OK = 200
const FIRST_ERROR = 400

/**
 * Relays an answer that is not a stream. It is held until it is complete, so that an earlier failure can be answered.
 */
export class WholeRelay implements Relay {
  readonly #exchange: RelayedExchange
  readonly #head: AnswerHead
  readonly #needs: Needs
  /** Makes one answer of a stream. Null for other answers, whose bytes are held. */
  readonly #collector: StreamCollector | null
  /** Null where there is no collector. */
  readonly #endTimeout: EndTimeout | null
  /** Empty once the answer is relayed chunk by chunk. */
  readonly #held = new ByteChunks()
  #heldBytes = 0
  /** Null while the answer is held. */
  #writer: ChunkWriter | null = null

  constructor(exchange: RelayedExchange, head: AnswerHead, needs: Needs, collector: StreamCollector | null) {
    this.#exchange = exchange
    this.#head = head
    this.#needs = needs
    this.#collector = collector
    this.#endTimeout = collector && new EndTimeout(exchange, this)
  }

  take(chunk: Buffer): void {
    if (this.#writer) return this.#writer.write(chunk)
    if (this.#collector) this.#collect(chunk, this.#collector)
    else this.#held.add(chunk)
    this.#heldBytes += chunk.length
    const { rewrite, keepsErrors } = this.#needs
    // Another backend may do better than an error, so its caller must not get the beginning of it.
    const isHeld = rewrite !== null || (keepsErrors && this.#head.status !== OK)
    if (!isHeld && this.#heldBytes > MAX_HELD_BYTES) this.#passThrough(this.#held.take())
  }

  #collect(chunk: Buffer, collector: StreamCollector): void {
    const hasEvents = collector.push(chunk)
    this.#endTimeout?.note(collector.state(), hasEvents)
  }

  end(): void {
    if (!this.#writer) return this.#answer()
    this.#exchange.res.end()
    this.#exchange.finish('whole', null)
  }

  isComplete(): boolean {
    return this.#collector?.state() === 'ended'
  }

  heldBytes(): number {
    return this.#writer ? 0 : this.#heldBytes
  }

  cut(kind: 'cut' | 'ended', _failure: StreamFailure, reason: string): void {
    this.#exchange.finish(kind, reason)
    breakConnection(this.#exchange.res)
  }

  stop(): void {
    this.#held.clear()
    this.#endTimeout?.stop()
    this.#writer?.stop()
  }

  #passThrough(held: Buffer): void {
    if (this.#settleUnfit(held)) return this.#exchange.abort()
    this.#maskCredential(held)
    const { 'content-length': length } = this.#head.headers
    this.#exchange.beginAnswer(this.#head.status)
    // The backend's own length lets a client notice an answer that is cut.
    writeHead(this.#exchange.res, this.#head, length === undefined ? {} : { 'content-length': length }, false)
    this.#exchange.res.flushHeaders()
    this.#writer = new ChunkWriter(this.#exchange)
    this.#writer.write(held)
  }

  #answer(): void {
    const body = this.#held.take()
    if (this.#settleUnfit(body)) return
    this.#maskCredential(body)
    const { rewrite, isTranslated } = this.#needs
    const failure = rewrite ? null : this.#readFailure(body)
    if (failure) return this.#keepFailure(failure, body)
    const answer = this.#rewrite(body)
    if (answer instanceof ApiError) return this.#exchange.refuse(answer)
    // A rewrite may find an error in an answer of 200, whose body was not masked.
    if (answer.status !== OK) maskCredential(answer.body, this.#needs.credential)
    const refusedPart = answer.status === OK ? null : this.#findRefusedPart(body)
    const shown = { head: this.#head, answer, isTranslated, refusedPart }
    if (this.#isKept(shown)) return this.#exchange.keep(shown)
    this.#exchange.beginAnswer(this.#head.status)
    writeWhole(this.#exchange.res, shown, this.#exchange.idleTimeoutMs)
    this.#exchange.finish('whole', null)
  }

  #rewrite(body: Buffer): WholeAnswer | ApiError {
    const { status } = this.#head
    const { rewrite, dialect } = this.#needs
    if (this.#collector) return this.#collector.end(status)
    if (rewrite) return rewrite.whole({ status, body: withoutByteOrderMark(body) })
    return toUntouchedAnswer(this.#head, body, dialect)
  }

  /** Whether an answer is an error that is kept for the outcome. One that a rewrite has found has another status. */
  #isKept({ answer: { status }, refusedPart }: KeptAnswer): boolean {
    if (this.#head.status < FIRST_ERROR && status >= FIRST_ERROR) return true
    return status !== OK && (this.#needs.keepsErrors || refusedPart !== null)
  }

  /** Settles the exchange where the caller must not get what the backend has sent. Returns whether it did. */
  #settleUnfit(body: Buffer): boolean {
    const none = findNoAnswer(this.#head, this.#heldBytes)
    if (none) this.#keepFailure(none, null)
    else if (isCredentialRefused(this.#head, body)) {
      this.#exchange.refuse(new ApiError('upstream_refused_credential'))
    } else if (this.#isErrorPage(body)) this.#keepFailure(readFailure(body.toString('utf8'), this.#head.status), null)
    else return false
    return true
  }

  /** An error for browsers, which the caller's SDK would print in full. A rewrite reads it itself. */
  #isErrorPage(body: Buffer): boolean {
    const { rewrite } = this.#needs
    return !rewrite && this.#head.status >= FIRST_ERROR && isPage(body.toString('utf8', 0, MAX_OPENING_BYTES))
  }

  /**
   * Vendors report a failure also after a status of 200, where other answers begin with another member, and a mistake
   * of the operator with the status of a wrong request.
   */
  #readFailure(body: Buffer): Failure | null {
    if (this.#head.status !== OK) return readOperatorsFault(this.#head, body)
    if (!ERROR_BODY.test(body.toString('latin1', 0, MAX_OPENING_BYTES))) return null
    return this.#needs.backendDialect.readErrorEvent({ event: null, data: body.toString('utf8') })
  }

  /** Keeps an answer with the status for a failure. `body`: what the backend reported; null for words of our own. */
  #keepFailure(failure: Failure, body: Buffer | null): void {
    keepFailure(this.#exchange, failure, { head: this.#head, body }, this.#needs)
  }

  #findRefusedPart(body: Buffer): RefusedPart | null {
    return findRefusedPart(this.#needs.backendDialect.refusedParts, readFailure(parseError(body)))
  }

  #maskCredential(body: Buffer): void {
    if (this.#head.status !== OK) maskCredential(body, this.#needs.credential)
  }
}

/** How the body of an error begins in every dialect. */
const ERROR_BODY = /^\s*\{\s*"(?:error"|(?:type|object)"\s*:\s*"error")/
const MAX_OPENING_BYTES = 64

/** Servers answer so at a URL that is not that of their API. */
const WEB_PAGE = backendFailed('The backend answered with a web page. Its URL may be wrong.')
const REDIRECT = backendFailed('The backend answered with a redirect. Its URL may be wrong.')

const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308])

/** The failure of an answer without a body. */
export const EMPTY = backendFailed('The backend sent an empty answer.')

/** Whether an answer with this content type is a page for browsers. */
export function isWebPage(contentType: string): boolean {
  return /^text\/html/i.test(contentType)
}

const BYTE_ORDER_MARK = Buffer.from('\uFEFF')

/** Removes the byte order mark that some servers write. A reader of JSON may ignore it (RFC 8259, section 8.1). */
function withoutByteOrderMark(body: Buffer): Buffer {
  const { length } = BYTE_ORDER_MARK
  return body.subarray(0, length).equals(BYTE_ORDER_MARK) ? body.subarray(length) : body
}

/** Why an answer whose status is no error cannot be the answer to a call; null when it can be, or is an error. */
function findNoAnswer({ status, headers }: AnswerHead, bytes: number): Failure | null {
  if (status >= FIRST_ERROR) return null
  if (REDIRECTS.has(status)) return REDIRECT
  if (isWebPage(headers['content-type'] ?? '')) return WEB_PAGE
  return status === OK && bytes === 0 ? EMPTY : null
}
