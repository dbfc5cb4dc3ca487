import { ApiError } from '../../http/errors.ts'
import type { StreamFailure } from '../dialects/dialect.ts'
import { ChunkWriter } from './chunk-writer.ts'
import { isCredentialRefused } from './credential-refusal.ts'
import { breakConnection, UnreadableAnswer, writeHead } from './relay.ts'
import type { AnswerHead, AnswerRewrite, Relay, RelayedExchange, WholeAnswer } from './relay.ts'

/** An answer up to this size leaves in one write; a larger one passes through as it comes. */
const MAX_HELD_BYTES = 1024 * 1024

/** An answer that is rewritten must be held whole. */
const MAX_REWRITTEN_BYTES = 64 * 1024 * 1024

/** An answer up to this size fits into the buffers of a connection, whether the caller reads it or not. */
const MAX_BUFFERED_BYTES = 16 * 1024

/**
 * Holds an answer that is not a stream until all of it is there, so that a failure before that can still be answered as
 * one.
 */
export class WholeRelay implements Relay {
  readonly #exchange: RelayedExchange
  readonly #head: AnswerHead
  readonly #rewrite: AnswerRewrite | null
  /** Empty once the answer passes through. */
  #held: Buffer[] = []
  #heldBytes = 0
  /** Null while the answer is held. */
  #writer: ChunkWriter | null = null

  constructor(exchange: RelayedExchange, head: AnswerHead, rewrite: AnswerRewrite | null) {
    this.#exchange = exchange
    this.#head = head
    this.#rewrite = rewrite
  }

  take(chunk: Buffer): void {
    if (this.#writer) return this.#writer.write(chunk)
    this.#held.push(chunk)
    this.#heldBytes += chunk.length
    if (this.#rewrite && this.#heldBytes > MAX_REWRITTEN_BYTES) throw new UnreadableAnswer('too_large')
    if (!this.#rewrite && this.#heldBytes > MAX_HELD_BYTES) this.#passThrough(Buffer.concat(this.#held))
  }

  end(): void {
    if (!this.#writer) return this.#answer()
    this.#exchange.res.end()
    this.#exchange.finish('whole', null)
  }

  isComplete(): boolean {
    return false
  }

  cut(kind: 'cut' | 'ended', _failure: StreamFailure, reason: string): void {
    this.#exchange.finish(kind, reason)
    breakConnection(this.#exchange.res)
  }

  stop(): void {
    this.#held = []
    this.#writer?.stop()
  }

  #passThrough(held: Buffer): void {
    this.#held = []
    if (isCredentialRefused(this.#head, held)) {
      this.#refuseCredential()
      return this.#exchange.abort()
    }
    const { 'content-length': length } = this.#head.headers
    // The backend's own length lets a client notice an answer that is cut.
    writeHead(this.#exchange.res, this.#head, length === undefined ? {} : { 'content-length': length }, null)
    this.#exchange.res.flushHeaders()
    this.#writer = new ChunkWriter(this.#exchange)
    this.#writer.write(held)
  }

  #answer(): void {
    const body = this.#held.length === 1 && this.#held[0] ? this.#held[0] : Buffer.concat(this.#held)
    if (isCredentialRefused(this.#head, body)) return this.#refuseCredential()
    const given: WholeAnswer = { status: this.#head.status, body }
    const answer = this.#rewrite ? this.#rewrite.whole(given) : given
    if (answer instanceof ApiError) return this.#exchange.finish('refused', answer.code, answer)
    this.#write(answer)
    this.#exchange.finish('whole', null)
  }

  #refuseCredential(): void {
    const refusal = new ApiError('upstream_refused_credential')
    this.#exchange.finish('refused', refusal.code, refusal)
  }

  #write({ status, body, contentType, defaults }: WholeAnswer): void {
    const { res, idleTimeoutMs } = this.#exchange
    const { headers } = this.#head
    const shown = contentType === undefined ? headers : { ...defaults, ...headers, 'content-type': contentType }
    writeHead(
      res,
      { status, headers: shown },
      status === 204 || status === 304 ? {} : { 'content-length': body.length },
      this.#rewrite,
    )
    if (body.length > MAX_BUFFERED_BYTES) {
      res.end(body)
      // Closes the connection of a caller that does not read.
      res.setTimeout(idleTimeoutMs)
    } else {
      // Node sends the head and a string in one write, but the head and bytes in two. As Latin-1 every byte stays what
      // it is.
      res.end(body.toString('latin1'), 'latin1')
    }
  }
}
