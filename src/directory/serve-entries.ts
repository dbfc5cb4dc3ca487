import { UPSTREAM_NAMES, WORKER_NAME } from '../kernel/backend-name.ts'
import type { ServeEntry } from './backends.ts'
import type { DirectoryModel } from './rules.ts'

/** What the directory says of where a model is. */
export type PlacedModel = Pick<DirectoryModel, 'id' | 'serve' | 'backendModel' | 'upstreamModel' | 'caps'>

/**
 * The backends that can serve a model, in the order of preference. Without a list of backends, they are the worker,
 * where the model has a name there, and the upstreams, of which that of a call's route serves the call. With a name at
 * the worker and none at the upstream, the model is not sent to an upstream.
 */
export function serveEntriesOf(model: Omit<PlacedModel, 'caps'>): readonly ServeEntry[] {
  const { id, serve, backendModel, upstreamModel } = model
  if (hasBackendList(model)) return serve
  const onWorker = backendModel === null ? [] : [toEntry(WORKER_NAME, backendModel)]
  const atUpstreams = upstreamModel === null && backendModel !== null ? [] : UPSTREAM_NAMES
  return [...onWorker, ...atUpstreams.map((name) => toEntry(name, upstreamModel ?? id))]
}

function toEntry(backend: string, model: string): ServeEntry {
  return { backend, model, when: 'always', rank: 0, weight: 1 }
}

/** Whether the directory lists the backends of a model. Otherwise, the route of a call decides. */
export function hasBackendList({ serve }: Pick<PlacedModel, 'serve'>): boolean {
  return serve.length > 0
}
