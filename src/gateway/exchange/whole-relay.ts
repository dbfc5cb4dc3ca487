import { ApiError } from '../../http/errors.ts'
import type { StreamFailure } from '../dialects/dialect.ts'
import { ChunkWriter } from './chunk-writer.ts'
import { isCredentialRefused } from './credential-refusal.ts'
import { breakConnection, UnreadableAnswer, writeHead } from './relay.ts'
import type { AnswerHead, AnswerRewrite, Relay, RelayedExchange, WholeAnswer } from './relay.ts'

/** An answer up to this size is sent in one write; a larger one is relayed chunk by chunk. */
const MAX_HELD_BYTES = 1024 * 1024

/** An answer that is rewritten is held in memory until it is complete. */
const MAX_REWRITTEN_BYTES = 64 * 1024 * 1024

/** An answer up to this size fits into the buffers of a connection, whether the caller reads it or not. */
const MAX_BUFFERED_BYTES = 16 * 1024

/**
 * Relays an answer that is not a stream. It is held until it is complete, so that an earlier failure can be answered.
 */
export class WholeRelay implements Relay {
  readonly #exchange: RelayedExchange
  readonly #head: AnswerHead
  readonly #rewrite: AnswerRewrite | null
  /** Empty once the answer is relayed chunk by chunk. */
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
      // Node closes the connection when the caller does not read for this long.
      res.setTimeout(idleTimeoutMs)
    } else {
      // Node sends the head and a string in one write, but the head and a buffer in two. Latin-1 keeps every byte.
      res.end(body.toString('latin1'), 'latin1')
    }
  }
}
