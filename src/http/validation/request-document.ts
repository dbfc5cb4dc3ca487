import { schemasIn } from '../contract.ts'
import type { Contract } from '../contract.ts'

/**
 * Reduces a document to what describes requests: without answers, and with only those schemas that requests refer to.
 * The validator compiles a quarter of the whole then.
 */
export function toRequestDocument(contract: Contract): Contract {
  const paths = mapValues(contract.paths, (item) => mapValues(item, (operation) => ({ ...operation, responses: {} })))
  const { schemas } = contract.components
  const referred = new Set<string>()
  for (const found = schemasIn(paths); found.length > 0;) {
    const name = found.pop() ?? ''
    if (referred.has(name)) continue
    referred.add(name)
    found.push(...schemasIn(schemas[name]))
  }
  const kept = Object.entries(schemas).filter(([name]) => referred.has(name))
  return { ...contract, paths, components: { ...contract.components, schemas: Object.fromEntries(kept) } }
}

function mapValues<From, To>(of: Readonly<Record<string, From>>, to: (value: From) => To): Record<string, To> {
  return Object.fromEntries(Object.entries(of).map(([key, value]) => [key, to(value)]))
}
