/** Puts an entry at the end of a map, and removes the oldest entry when there are more than `maxEntries`. */
export function putNewest<Value>(map: Map<string, Value>, key: string, value: Value, maxEntries: number): void {
  map.delete(key)
  map.set(key, value)
  if (map.size <= maxEntries) return
  const oldest = map.keys().next().value
  if (oldest !== undefined) map.delete(oldest)
}
