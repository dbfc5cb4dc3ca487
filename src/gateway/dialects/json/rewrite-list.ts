import { scanTopLevel, setMembers } from './edit-json.ts'
import { parseToRewrite, readList } from './read-json.ts'
import type { Json } from './read-json.ts'

/**
 * Changes a list that is a top-level member of a JSON object. Returns the same bytes where there is no such list, and
 * where `change` returns the same items. All other bytes stay the same, and numbers in the list as they are written.
 */
export function rewriteList(
  bytes: Buffer,
  name: string,
  change: (items: readonly unknown[]) => readonly unknown[],
): Buffer {
  const scanned = scanTopLevel(bytes)
  const range = scanned?.members.get(name)
  const items = range && parseToRewrite(bytes.toString('utf8', range.start, range.end))
  if (!Array.isArray(items)) return bytes
  const changed = change(items)
  const isSame = changed.length === items.length && changed.every((item, index) => item === items[index])
  return isSame ? bytes : (setMembers(bytes, { [name]: changed }, scanned) ?? bytes)
}

/**
 * Changes some items of such a list. `change` returns what stands in the place of an item; null: the item itself.
 * `body` is the parsed object, whose long texts may be cut. Its items are looked at first, because nearly every list
 * stays as it is.
 */
export function rewriteItems(
  bytes: Buffer,
  body: Json,
  name: string,
  change: (item: unknown) => readonly unknown[] | null,
): Buffer {
  if (!readList(body[name]).some((item) => change(item) !== null)) return bytes
  return rewriteList(bytes, name, (items) => items.flatMap((item) => change(item) ?? [item]))
}
