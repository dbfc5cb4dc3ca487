/** So many pieces are joined, because each takes about 200 bytes besides its own. */
const MAX_PIECES = 1024

/** Collects pieces, which may be a byte each, and joins them. */
class Pieces<Piece extends { readonly length: number }> {
  readonly #join: (pieces: readonly Piece[]) => Piece
  #joined: Piece[] = []
  #recent: Piece[] = []
  #length = 0

  constructor(join: (pieces: readonly Piece[]) => Piece) {
    this.#join = join
  }

  get length(): number {
    return this.#length
  }

  add(piece: Piece): void {
    this.#length += piece.length
    if (this.#recent.push(piece) < MAX_PIECES) return
    this.#joined.push(this.#join(this.#recent))
    this.#recent = []
  }

  /** Returns all pieces as one, and forgets them. A single piece is not copied. */
  take(): Piece {
    const [first, ...others] = [...this.#joined, ...this.#recent]
    this.clear()
    return first && others.length === 0 ? first : this.#join(first ? [first, ...others] : [])
  }

  clear(): void {
    this.#joined = []
    this.#recent = []
    this.#length = 0
  }
}

/** Collects the chunks of a body. */
export class ByteChunks extends Pieces<Buffer> {
  constructor() {
    super((chunks) => Buffer.concat(chunks))
  }
}

/** Collects the pieces of a text. */
export class TextPieces extends Pieces<string> {
  constructor() {
    super((pieces) => pieces.join(''))
  }
}
