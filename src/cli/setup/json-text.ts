import { JsonTextError, readDocument, readObject, skipBlanks } from './json-object.ts'
import type { JsonObject, Member } from './json-object.ts'
import { applySplices, lineEndOf, skip } from './splice.ts'
import type { Splice } from './splice.ts'

/** A member that was set. */
export type SetMember = {
  readonly path: readonly string[]
  readonly value: unknown
  /** The earlier value as JSON text; null when there was no such member. */
  readonly before: string | null
}

/**
 * Computes the changes that set members of a JSON document, such as `['env', 'NAME']`, and change no other byte.
 * Comments and trailing commas are allowed. Throws a `JsonTextError` when the document or a parent of a member is not
 * an object.
 */
export function setMembers(
  text: string,
  members: readonly (readonly [path: readonly string[], value: unknown])[],
): { readonly splices: readonly Splice[]; readonly members: readonly SetMember[] } {
  const splices: Splice[] = []
  const done: SetMember[] = []
  const set = (path: readonly string[], value: unknown) => {
    const current = applySplices(text, splices)
    const { object, member } = findMember(current, path)
    splices.push(
      member ? replaceValue(current, member, value) : insertMember(current, object, path.at(-1) ?? '', value),
    )
    done.push({ path, value, before: member ? current.slice(member.valueStart, member.valueEnd) : null })
  }
  // A new member becomes the first of its object. Setting them in reverse keeps their order.
  for (const [path, value] of members.toReversed()) {
    for (let depth = 1; depth < path.length; depth++) {
      const parent = path.slice(0, depth)
      if (!findMember(applySplices(text, splices), parent).member) set(parent, {})
    }
    set(path, value)
  }
  return { splices, members: done }
}

/**
 * Removes members from a document that was changed after they were set. A member whose value was changed stays, and is
 * named in `kept`.
 */
export function unsetMembers(
  text: string,
  members: readonly SetMember[],
): { readonly text: string; readonly kept: readonly string[] } {
  const kept: string[] = []
  let current = text
  for (const { path, value, before } of members.toReversed()) {
    const found = findIfThere(current, path)
    if (!found) continue
    const { object, member } = found
    const isOurs = isSame(current.slice(member.valueStart, member.valueEnd), value)
    if (isOurs)
      current = applySplices(current, [
        before === null ? removeMember(object, member, current) : restoreValue(current, member, before),
      ])
    else if (!isParent(value)) kept.push(path.join('.'))
  }
  return { text: current, kept }
}

/** Whether a value was set only as a parent of other members. It may hold members of the user by now. */
function isParent(value: unknown): boolean {
  return JSON.stringify(value) === '{}'
}

function isSame(json: string, value: unknown): boolean {
  try {
    return JSON.stringify(JSON.parse(json)) === JSON.stringify(value)
  } catch {
    // It has comments, so it is not what was written.
    return false
  }
}

type Found = { readonly object: JsonObject; readonly member: Member | undefined }

/** Finds a member and the object that holds it. Of members with the same name, the last one counts. */
function findMember(text: string, path: readonly string[]): Found {
  let object = readDocument(text)
  for (const key of path.slice(0, -1)) {
    const parent = object.members.findLast((each) => each.key === key)
    if (!parent) throw new JsonTextError(`there is no object named ${key}`)
    object = readObject(text, parent.valueStart)
  }
  return { object, member: object.members.findLast((each) => each.key === path.at(-1)) }
}

function findIfThere(text: string, path: readonly string[]): { object: JsonObject; member: Member } | null {
  for (let depth = 1; depth < path.length; depth++) {
    const { member } = findMember(text, path.slice(0, depth))
    if (!member || text[member.valueStart] !== '{') return null
  }
  const { object, member } = findMember(text, path)
  return member ? { object, member } : null
}

/** Removes a member with its comma, and the comments behind it in its line. Other comments stay. */
function removeMember({ open, members, end }: JsonObject, member: Member, text: string): Splice {
  const at = members.indexOf(member)
  const [previous, next] = [members[at - 1], members[at + 1]]
  const comma = skipBlanks(text, member.valueEnd)
  const after = skip(REST_OF_LINE, text, text[comma] === ',' ? comma + 1 : member.valueEnd)
  if (next) return cut(text, member.start, after)
  if (!previous) return cut(text, open + 1, end - 1, text.slice(open + 1, member.start) + text.slice(after, end - 1))
  const commaBefore = skipBlanks(text, previous.valueEnd)
  return cut(text, commaBefore, member.valueEnd, text.slice(commaBefore + 1, member.start))
}

/** Replaces a part of a text by what it has of others, unless that is white space. */
function cut(text: string, from: number, to: number, others = ''): Splice {
  return { at: from, removed: text.slice(from, to), added: others.trim() === '' ? '' : others }
}

/** The comments in this line, its end, and the white space of the next line. */
const REST_OF_LINE = /(?:[ \t]|\/\/[^\n]*|\/\*[\s\S]*?\*\/)*\s*/y

function restoreValue(text: string, { valueStart, valueEnd }: Member, json: string): Splice {
  return { at: valueStart, removed: text.slice(valueStart, valueEnd), added: json }
}

/** Replaces the key too, so that `revertInChanged` can find the change in the text. */
function replaceValue(text: string, { start, valueStart, valueEnd }: Member, value: unknown): Splice {
  const added = text.slice(start, valueStart) + JSON.stringify(value)
  return { at: start, removed: text.slice(start, valueEnd), added }
}

/** Inserts a new first member with its comma. Removing both leaves valid JSON, whatever was added after it. */
function insertMember(text: string, { open, members }: JsonObject, key: string, value: unknown): Splice {
  const lineEnd = lineEndOf(text)
  const first = members[0]
  const outer = indentAt(text, open)
  const lead = first && text.slice(text.lastIndexOf('\n', first.start) + 1, first.start)
  // Like the first member, where that begins its line.
  const indent = lead?.trim() === '' ? lead : `${outer}  `
  const unit = indent.startsWith('\t') ? '\t' : '  '
  const shown = JSON.stringify(value, null, unit).replaceAll('\n', lineEnd + indent)
  const line = `${lineEnd}${indent}${JSON.stringify(key)}: ${shown}`
  return { at: open + 1, removed: '', added: first ? `${line},` : `${line}${lineEnd}${outer}` }
}

/** The white space at the start of the line of a position. */
function indentAt(text: string, at: number): string {
  return /^[ \t]*/.exec(text.slice(text.lastIndexOf('\n', at) + 1, at))?.[0] ?? ''
}
