/** How many pieces are joined at a time. Until then, each takes about 200 bytes besides its content. */
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
    const pieces = [...this.#joined, ...this.#recent]
    const [first] = pieces
    this.clear()
    return first !== undefined && pieces.length === 1 ? first : this.#join(pieces)
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
    super(joinBytes)
  }
}

/** Collects the pieces of a text. */
export class TextPieces extends Pieces<string> {
  constructor() {
    super(joinTexts)
  }
}

const joinBytes = (chunks: readonly Buffer[]) => Buffer.concat(chunks)
const joinTexts = (pieces: readonly string[]) => pieces.join('')
