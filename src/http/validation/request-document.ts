import { isObject } from '../../kernel/json.ts'
import { schemasIn } from '../contract.ts'
import type { Contract, Route } from '../contract.ts'

/** The document of one operation: what describes its requests, and only those schemas that they refer to. */
export function toRequestDocument({ openapi, components }: Contract, { path, method, operation }: Route): Contract {
  const { parameters = {}, schemas } = components
  const described = { ...operation, parameters: (operation.parameters ?? []).map(allowReserved), responses: {} }
  const paths = { [path]: { [method]: described } }
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

/**
 * Lets the value of a query parameter have the characters that a query may have unencoded, such as `:` and `@` (RFC
 * 3986, section 3.4). The library would refuse them.
 */
function allowReserved(parameter: unknown): unknown {
  return isObject(parameter) && parameter['in'] === 'query' ? { ...parameter, allowReserved: true } : parameter
}
