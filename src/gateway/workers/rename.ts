import { scanTopLevel, spliceTopLevel } from '../translate/splice.ts'
import type { Rewrite } from '../upstream/relay.ts'

/** Lets a chat completions answer name the service model instead of the backend's alias. Nothing else of it changes. */
export function renameModel(id: string): Rewrite {
  const name = Buffer.from(JSON.stringify(id))
  return {
    whole: (body, status) => (status < 300 ? renameWhole(body, id) : body),
    stream: () => renameLines(name),
  }
}

function renameWhole(body: Buffer, id: string): Buffer {
  const scanned = scanTopLevel(body)
  if (!scanned?.members.has('model')) return body
  return spliceTopLevel(body, { model: id }, scanned)?.bytes ?? body
}

const LF = 0x0a
const CR = 0x0d
const QUOTE = 0x22
const BACKSLASH = 0x5c
const SPACE = 0x20
const MEMBER = Buffer.from('"model":')

/** More than any real event; a server that never ends its line is broken. */
const LONGEST_LINE = 32 * 1024 * 1024

/** Chunks have one line of JSON each, so whole lines pass at once and only the beginning of one waits for its end. */
function renameLines(name: Buffer): ReturnType<Rewrite['stream']> {
  let waiting: Buffer[] = []
  let waitingBytes = 0
  return {
    push(chunk) {
      const end = Math.max(chunk.lastIndexOf(LF), chunk.lastIndexOf(CR)) + 1
      const lines = end === 0 ? NOTHING : renameInLines(Buffer.concat([...waiting, chunk.subarray(0, end)]), name)
      if (end > 0) {
        waiting = []
        waitingBytes = 0
      }
      if (end < chunk.length) {
        // A copy, so that the few bytes do not keep the whole read buffer alive.
        waiting.push(Buffer.from(chunk.subarray(end)))
        waitingBytes += chunk.length - end
        if (waitingBytes > LONGEST_LINE) throw new Error('A line of the stream does not end.')
      }
      return lines
    },
    end: () => renameInLines(Buffer.concat(waiting), name),
  }
}

const NOTHING = Buffer.alloc(0)

/**
 * Replaces the first `"model":"…"` of each line. Inside a JSON string every quote is escaped, so these bytes are never what the
 * model said.
 */
function renameInLines(lines: Buffer, name: Buffer): Buffer {
  const pieces: Buffer[] = []
  let from = 0
  for (let at = lines.indexOf(MEMBER); at !== -1; at = lines.indexOf(MEMBER, from)) {
    const start = valueStart(lines, at + MEMBER.length)
    const end = stringEnd(lines, start)
    if (end === -1) break
    pieces.push(lines.subarray(from, start), name, lines.subarray(end, (from = lineEnd(lines, end))))
  }
  return pieces.length === 0 ? lines : Buffer.concat([...pieces, lines.subarray(from)])
}

function valueStart(line: Buffer, from: number): number {
  let at = from
  while (line[at] === SPACE) at++
  return at
}

/** Behind the closing quote; -1 when no string starts here. */
function stringEnd(line: Buffer, start: number): number {
  if (line[start] !== QUOTE) return -1
  for (let at = start + 1; at < line.length; at++) {
    if (line[at] === BACKSLASH) at++
    else if (line[at] === QUOTE) return at + 1
  }
  return -1
}

function lineEnd(lines: Buffer, from: number): number {
  const end = lines.indexOf(LF, from)
  return end === -1 ? lines.length : end
}
