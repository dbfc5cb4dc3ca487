/** The path of member names and indexes to one value inside a JSON value. */
export type Place = readonly (string | number)[]

/** The paths of a value and of all values inside it. */
export function placesOf(value: unknown, here: Place = []): Place[] {
  if (typeof value !== 'object' || value === null) return [here]
  return [here, ...Object.entries(value).flatMap(([name, inner]) => placesOf(inner, [...here, name]))]
}

/** A copy with the value at one place replaced. `at` is the index of the place, modulo the number of places. */
export function withReplaced(value: unknown, at: number, by: unknown): unknown {
  const places = placesOf(value)
  return withValueAt(value, places[at % places.length] ?? [], by)
}

/** A copy with another value at this place. */
export function withValueAt(value: unknown, [name, ...rest]: Place, by: unknown): unknown {
  if (name === undefined) return by
  const copy = Array.isArray(value) ? [...(value as unknown[])] : { ...(value as object) }
  const inner: unknown = Reflect.get(copy, name)
  // Defined and not assigned, so that `__proto__` becomes a member of its own.
  Object.defineProperty(copy, name, {
    value: withValueAt(inner, rest, by),
    enumerable: true,
    configurable: true,
    writable: true,
  })
  return copy
}

export function valueAt(value: unknown, place: Place): unknown {
  return place.reduce<unknown>((inner, name) => Reflect.get(inner as object, name), value)
}
