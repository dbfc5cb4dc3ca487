import type { ServerResponse } from 'node:http'

/** A larger piece is not worth the copy. */
const COPY_BYTES = 16 * 1024

const LINE_END = 2

/**
 * Writes a piece of an answer whose head has been flushed; false: the caller has enough to read, so wait for `onceDrained`. Node hands each chunk of a
 * chunked answer to the connection in four parts (RFC 9112, section 7.1), which costs as much as all else that a chunk of a stream costs
 * here; this hands it over in one.
 */
export function writePiece(res: ServerResponse, piece: Buffer): boolean {
  // Without a connection it is not this answer's turn, and Node keeps what is written until it is.
  if (!res.socket || !res.chunkedEncoding || piece.length > COPY_BYTES) return res.write(piece)
  const size = piece.length.toString(16)
  const chunk = Buffer.allocUnsafe(size.length + LINE_END + piece.length + LINE_END)
  chunk.write(`${size}\r\n`, 'latin1')
  piece.copy(chunk, size.length + LINE_END)
  chunk.write('\r\n', chunk.length - LINE_END, 'latin1')
  return res.socket.write(chunk)
}

/** Whether bytes wait for the caller to read. */
export function isFull(res: ServerResponse): boolean {
  return (res.socket ?? res).writableNeedDrain
}

/** Calls back when the caller has read what waited for it. */
export function onceDrained(res: ServerResponse, goOn: () => void): void {
  ;(res.socket ?? res).once('drain', goOn)
}
