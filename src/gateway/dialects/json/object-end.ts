/** Finds the end of a JSON object that arrives in fragments. */
export type ObjectEnd = {
  push(fragment: string): void
  /** Whether the object has ended and only white space has followed. What is in it may be invalid. */
  isReached(): boolean
}

/** Makes an `ObjectEnd`. It reads each character once, so many small fragments cost no more than a large one. */
export function makeObjectEnd(): ObjectEnd {
  let depth = 0
  let inString = false
  let isEscaped = false
  let isReached = false

  function take(character: number): void {
    if (isEscaped) isEscaped = false
    else if (inString && character === BACKSLASH) isEscaped = true
    else if (character === QUOTE) inString = !inString
    else if (!inString) depth += changeOfDepth(character)
  }

  return {
    push(fragment) {
      for (let index = 0; index < fragment.length; index++) {
        const character = fragment.charCodeAt(index)
        take(character)
        isReached = depth === 0 && (character === CLOSING_BRACE || (isReached && character <= SPACE))
      }
    },
    isReached: () => isReached,
  }
}

function changeOfDepth(character: number): number {
  if (character === OPENING_BRACE || character === OPENING_BRACKET) return 1
  return character === CLOSING_BRACE || character === CLOSING_BRACKET ? -1 : 0
}

const [QUOTE, BACKSLASH, SPACE] = [0x22, 0x5c, 0x20]
const [OPENING_BRACE, CLOSING_BRACE, OPENING_BRACKET, CLOSING_BRACKET] = [0x7b, 0x7d, 0x5b, 0x5d]
