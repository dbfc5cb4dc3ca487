import type { ServerResponse } from 'node:http'
import type { RelayedExchange } from './relay.ts'

/** A larger chunk is not worth the copy. */
const MAX_COPIED_BYTES = 16 * 1024

const LINE_END_BYTES = 2

/**
 * Writes the chunks of one answer whose head has been flushed. While the caller does not read, the backend is paused.
 * From the first time on that bytes wait for the caller, a caller whose connection takes no byte for the idle time
 * counts as one that has left.
 */
export class ChunkWriter {
  readonly #exchange: RelayedExchange
  #isWaiting = false
  #isTimed = false

  constructor(exchange: RelayedExchange) {
    this.#exchange = exchange
  }

  write(chunk: Buffer): void {
    const { res } = this.#exchange
    if (writeChunk(res, chunk) || this.#isWaiting) return
    this.#isWaiting = true
    this.#exchange.pause()
    ;(res.socket ?? res).once('drain', this.#resume)
    this.#timeReader()
  }

  stop(): void {
    // Without a listener, the connection's timer closes a connection on which the rest of an answer stays unread.
    if (this.#isTimed) this.#exchange.res.off('timeout', this.#checkReader)
  }

  readonly #resume = (): void => {
    this.#isWaiting = false
    if (!this.#exchange.isOver) this.#exchange.resume()
  }

  /**
   * Started once for the rest of the answer and not for each chunk. Node restarts the timer whenever some of the bytes
   * have gone.
   */
  #timeReader(): void {
    if (this.#isTimed) return
    this.#isTimed = true
    this.#exchange.res.setTimeout(this.#exchange.idleTimeoutMs).on('timeout', this.#checkReader)
  }

  readonly #checkReader = (): void => {
    const { res } = this.#exchange
    // When nothing waits for the caller, it is the backend that is silent, and its own timer counts.
    if (!hasUnread(res)) return
    this.#exchange.finish('left', 'unread')
    this.#exchange.abort()
    res.destroy()
  }
}

/** Whether more bytes wait for the caller than the connection buffers. */
export function hasUnread(res: ServerResponse): boolean {
  return (res.socket ?? res).writableNeedDrain
}

/**
 * Writes a chunk; false when the caller has enough to read. Node hands each chunk of a chunked answer to the connection
 * in four parts (RFC 9112, section 7.1), which costs as much as everything else that a chunk of a stream costs here.
 * This hands it over in one part.
 */
function writeChunk(res: ServerResponse, bytes: Buffer): boolean {
  // A pipelined answer has no connection yet: Node buffers what is written until it has one.
  if (!res.socket || !res.chunkedEncoding || bytes.length > MAX_COPIED_BYTES) return res.write(bytes)
  const size = bytes.length.toString(16)
  const chunk = Buffer.allocUnsafe(size.length + LINE_END_BYTES + bytes.length + LINE_END_BYTES)
  chunk.write(`${size}\r\n`, 'latin1')
  bytes.copy(chunk, size.length + LINE_END_BYTES)
  chunk.write('\r\n', chunk.length - LINE_END_BYTES, 'latin1')
  return res.socket.write(chunk)
}
