import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { RelayedExchange } from './relay.ts'

/** A larger chunk is written without a copy, because the copy would need memory of its own (`Buffer.poolSize`). */
const MAX_COPIED_BYTES = 4 * 1024

const LINE_END = '\r\n'

/**
 * Writes the chunks of one answer whose head has been flushed. While the caller does not read, the backend is paused. A
 * caller that reads no byte for the idle timeout counts as one that has left. This is checked from the first time that
 * bytes wait for the caller.
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
    // Without a listener, Node itself closes a connection whose timer ends while the rest of the answer is unread.
    if (this.#isTimed) this.#exchange.res.off('timeout', this.#checkReader)
  }

  readonly #resume = (): void => {
    this.#isWaiting = false
    if (!this.#exchange.isOver) this.#exchange.resume()
  }

  /**
   * Started once for the rest of the answer, not for each chunk. Node restarts the timer whenever the caller reads some
   * bytes.
   */
  #timeReader(): void {
    if (this.#isTimed) return
    this.#isTimed = true
    this.#exchange.res.setTimeout(this.#exchange.idleTimeoutMs).on('timeout', this.#checkReader)
  }

  readonly #checkReader = (): void => {
    const { res } = this.#exchange
    // When no bytes wait for the caller, the backend is silent, which has its own timer.
    if (!hasUnread(res)) return
    this.#exchange.finish('left', 'unread')
    this.#exchange.abort()
    res.destroy()
  }
}

/** Whether more bytes wait for the caller than the connection's buffer should hold. */
export function hasUnread(res: ServerResponse): boolean {
  return (res.socket ?? res).writableNeedDrain
}

/**
 * Writes a chunk. Returns false when the connection's buffer is full. Node would write each chunk of a chunked answer
 * to the connection in four parts (RFC 9112, section 7.1), which doubles the cost of a small chunk here. This writes
 * one part.
 */
function writeChunk(res: ServerResponse, bytes: Buffer): boolean {
  const { socket } = res
  // The answer to a pipelined request has no connection yet. Node buffers it until it has one.
  if (!socket) return res.write(bytes)
  if (!res.chunkedEncoding) return socket.write(bytes)
  const size = `${bytes.length.toString(16)}${LINE_END}`
  if (bytes.length > MAX_COPIED_BYTES) return writeTogether(socket, [size, bytes, LINE_END])
  const chunk = Buffer.allocUnsafe(size.length + bytes.length + LINE_END.length)
  chunk.write(size, 'latin1')
  bytes.copy(chunk, size.length)
  chunk.write(LINE_END, chunk.length - LINE_END.length, 'latin1')
  return socket.write(chunk)
}

/**
 * Writes the parts with one call of the system, at once: Node's own answers wait until the next tick. Returns false
 * when the connection's buffer is full, and when the connection was destroyed, whose buffer stays empty.
 */
function writeTogether(socket: Socket, parts: readonly (string | Buffer)[]): boolean {
  socket.cork()
  for (const part of parts) socket.write(part, 'latin1')
  socket.uncork()
  return !socket.destroyed && socket.writableLength < socket.writableHighWaterMark
}
