type Known<Fields> = { [Name in keyof Fields]?: Exclude<Fields[Name], null> }

/** The same fields without those that are null. */
export function withoutNulls<Fields extends object>(fields: Fields): Known<Fields> {
  // Cast: only fields that are null are removed.
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null)) as Known<Fields>
}
