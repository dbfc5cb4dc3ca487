/**
 * Makes a look-up for requests whose path is unknown, such as `/chat/completions` of a client whose base URL lacks
 * `/v1`. It returns the path of the contract that ends alike: in most segments, then with most of the others, then the
 * shortest. Null when none does.
 */
export function makeSuggestPath(paths: readonly string[]): (given: string) => string | null {
  const known = paths.filter((path) => !path.includes('{')).map((path) => ({ path, segments: toSegments(path) }))
  return (given) => {
    const wanted = toSegments(given)
    const [best] = known
      .map(({ path, segments }) => ({ path, segments, ending: countEnding(segments, wanted) }))
      .filter(({ ending }) => ending > 0)
      .map(({ path, segments, ending }) => ({ path, ending, all: countAll(segments, wanted) }))
      .sort((a, b) => b.ending - a.ending || b.all - a.all || a.path.length - b.path.length)
    return best?.path ?? null
  }
}

function toSegments(path: string): readonly string[] {
  return path.split('/').filter(Boolean)
}

/** How many segments both have in common at their ends. */
function countEnding(known: readonly string[], wanted: readonly string[]): number {
  const differsAt = known.findLastIndex((segment, at) => segment !== wanted[wanted.length - known.length + at])
  return known.length - 1 - differsAt
}

/** How many segments of a known path the wanted one has anywhere. */
function countAll(known: readonly string[], wanted: readonly string[]): number {
  return known.filter((segment) => wanted.includes(segment)).length
}
