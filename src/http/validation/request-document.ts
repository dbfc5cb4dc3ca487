import { schemasIn } from '../contract.ts'
import type { Contract, Route } from '../contract.ts'

/** The document of one operation: what describes its requests, and only those schemas that they refer to. */
export function toRequestDocument({ openapi, components }: Contract, { path, method, operation }: Route): Contract {
  const { parameters = {}, schemas } = components
  const paths = { [path]: { [method]: { ...operation, responses: {} } } }
  const referred = new Set<string>()
  for (const found = schemasIn([paths, parameters]); found.length > 0;) {
    const name = found.pop() ?? ''
    if (referred.has(name)) continue
    referred.add(name)
    found.push(...schemasIn(schemas[name]))
  }
  const kept = Object.fromEntries(Object.entries(schemas).filter(([name]) => referred.has(name)))
  return { openapi, paths, components: { parameters, schemas: kept } }
}
