/**
 * Makes a look-up for requests whose path is unknown. It returns one sentence that helps the caller, or an empty text:
 * a name in the path has a slash, or the path resembles another one of the contract.
 */
export function makePathHint(paths: readonly string[]): (given: string) => string {
  const hasSlashInName = makeHasSlashInName(paths)
  const suggestPath = makeSuggestPath(paths)
  return (given) => {
    if (hasSlashInName(given)) return 'Write a slash within a name as %2F.'
    const suggested = suggestPath(given)
    return suggested === null ? '' : `Did you mean ${suggested}?`
  }
}

/**
 * Returns the path of the contract that ends alike, such as for `/chat/completions` of a client whose base URL lacks
 * `/v1`: in most segments, then with most of the others, then the shortest. A segment may be misspelt. Null when no
 * path ends alike. Below a path of the contract, such as `/v1/chat/completions/1/messages`, the last segment alone says
 * nothing.
 */
export function makeSuggestPath(paths: readonly string[]): (given: string) => string | null {
  const known = paths.filter((path) => !path.includes('{')).map((path) => ({ path, segments: toSegments(path) }))
  return (given) => {
    const wanted = toSegments(given)
    const least = known.some(({ path }) => given.startsWith(`${path}/`)) ? 2 : 1
    const [best] = known
      .map(({ path, segments }) => ({ path, segments, ending: countEnding(segments, wanted) }))
      .filter(({ ending }) => ending >= least)
      .map(({ path, segments, ending }) => ({ path, ending, all: countAll(segments, wanted) }))
      .sort((a, b) => b.ending - a.ending || b.all - a.all || a.path.length - b.path.length)
    return best?.path ?? null
  }
}

/** Makes a check for paths such as `/v1/models/svc/fast`: the path of a contract with too many segments in a name. */
function makeHasSlashInName(paths: readonly string[]): (given: string) => boolean {
  const named = paths
    .filter((path) => path.includes('{'))
    .map((path) => ({
      begin: path.slice(0, path.indexOf('{')),
      end: path.slice(path.lastIndexOf('}') + 1),
      count: toSegments(path).length,
    }))
  return (given) => {
    const { length } = toSegments(given)
    return named.some(({ begin, end, count }) => length > count && given.startsWith(begin) && given.endsWith(end))
  }
}

function toSegments(path: string): readonly string[] {
  return path.split('/').filter(Boolean)
}

/** How many segments both have in common at their ends. */
function countEnding(known: readonly string[], wanted: readonly string[]): number {
  const differsAt = known.findLastIndex((segment, at) => !isLike(segment, wanted[wanted.length - known.length + at]))
  return known.length - 1 - differsAt
}

/** How many segments of a known path the wanted one has anywhere. */
function countAll(known: readonly string[], wanted: readonly string[]): number {
  return known.filter((segment) => wanted.includes(segment)).length
}

/** Whether a segment is the known one, or a misspelling of it: one letter in four may be wrong, missing or added. */
function isLike(known: string, given = ''): boolean {
  const most = Math.floor(known.length / 4)
  if (known === given) return true
  return Math.abs(known.length - given.length) <= most && countEdits(known, given) <= most
}

/** The Levenshtein distance of two short texts. */
function countEdits(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, at) => at)
  for (const [index, letter] of Array.from(a).entries()) {
    const next = [index + 1]
    for (let at = 1; at <= b.length; at++) {
      const replaced = (row[at - 1] ?? 0) + (b[at - 1] === letter ? 0 : 1)
      next.push(Math.min(replaced, (row[at] ?? 0) + 1, (next[at - 1] ?? 0) + 1))
    }
    row = next
  }
  return row[b.length] ?? 0
}
