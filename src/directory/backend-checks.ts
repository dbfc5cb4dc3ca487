/** Contradictions of the directory file about backends, found without regard to its other mistakes. */
import { z } from 'zod'
import { GATEWAY_NAME, isUpstreamName, UPSTREAM_NAMES, WORKER_NAME } from '../kernel/backend-name.ts'
import type { ReadSecret } from '../kernel/credentials/secret-source.ts'
import { findRepeated } from './mistakes.ts'
import type { Mistake, Path } from './mistakes.ts'

const word = z.string().nullish().catch(null)
const source = z.object({ env: word, file: word }).nullish().catch(null)
const outline = z
  .object({
    name: word,
    url: z.unknown().optional(),
    basePath: z.unknown().optional(),
    credential: source,
    headers: z.unknown().optional(),
  })
  .catch({ name: null, url: null, credential: null })
const served = z.object({ backend: word, when: word }).catch({ backend: null, when: null })
const model = z.object({ serve: z.array(z.union([z.array(served), served])).catch([]) }).catch({ serve: [] })

const outlineSchema = z
  .object({ backends: z.array(outline).catch([]), models: z.array(model).catch([]) })
  .catch({ backends: [], models: [] })

type Outline = z.infer<typeof outline>
type Served = z.infer<typeof served>

/** Finds the contradictions. `readSecret`: null in a process that sends no credentials, so that none is checked. */
export function judgeBackends(content: unknown, readSecret: ReadSecret | null): Mistake[] {
  const { backends, models } = outlineSchema.parse(content)
  const names = backends.map(({ name }) => name ?? '')
  const known = new Set([...names, ...UPSTREAM_NAMES, WORKER_NAME])
  return [
    ...findRepeated(names, (i) => ['backends', i, 'name']),
    ...backends.flatMap((backend, i) => [
      ...judgeBackend(backend, i),
      ...(readSecret ? judgeCredential(backend, i, readSecret) : []),
    ]),
    ...models.flatMap(({ serve }, i) => judgeServe(serve, i, known)),
  ]
}

function judgeBackend({ name, ...fields }: Outline, i: number): Mistake[] {
  const at = ['backends', i]
  if (!name) return []
  if (name === WORKER_NAME) {
    return [{ path: [...at, 'name'], message: `"${name}" is the local worker, which the settings describe` }]
  }
  if (name === GATEWAY_NAME) return [{ path: [...at, 'name'], message: `"${name}" is a reserved name` }]
  if (!isUpstreamName(name))
    return fields.url === undefined || fields.url === null ? [{ path: [...at, 'url'], message: 'is missing' }] : []
  const setting = `SVC_${name.toUpperCase()}_UPSTREAM_URL`
  const given = (['url', 'basePath', 'credential', 'headers'] as const).filter((field) => fields[field])
  return given.map((field) => ({
    path: [...at, field],
    message: `must be left out: the settings beside ${setting} describe "${name}"`,
  }))
}

function judgeCredential({ name, credential }: Outline, i: number, readSecret: ReadSecret): Mistake[] {
  if (!credential || isUpstreamName(name ?? '')) return []
  const { env = null, file = null } = credential
  // The schema reports a credential of the wrong form.
  if ((env === null) === (file === null)) return []
  const read = readSecret({ env, file })
  return 'mistake' in read ? [{ path: ['backends', i, 'credential'], message: read.mistake }] : []
}

function judgeServe(serve: readonly (Served | readonly Served[])[], i: number, known: ReadonlySet<string>): Mistake[] {
  const entries = serve.flatMap((one, j) => withPaths(one, ['models', i, 'serve', j]))
  const unknown = entries.flatMap(({ path, backend }) =>
    !backend || known.has(backend)
      ? []
      : [{ path: [...path, 'backend'], message: `names a backend "${backend}" that does not exist` }],
  )
  // No backend comes before it whose failure would let it serve the model.
  const [first] = entries
  return first?.when === 'offline'
    ? [...unknown, { path: [...first.path, 'when'], message: 'must not be offline for the first backend' }]
    : unknown
}

/** An item of `serve`: one entry, or a list of neighbours. */
function withPaths(item: Served | readonly Served[], path: Path): readonly (Served & { readonly path: Path })[] {
  return isList(item) ? item.map((one, k) => ({ ...one, path: [...path, k] })) : [{ ...item, path }]
}

function isList(item: Served | readonly Served[]): item is readonly Served[] {
  return Array.isArray(item)
}
