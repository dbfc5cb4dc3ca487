import type { ServeEntry } from '../../src/directory/backends.ts'
import type { SnapshotModel } from '../../src/directory/rules.ts'

/** A model that may be called, with the members that the test gives. */
export function servedModel(id: string, given: Partial<SnapshotModel> = {}): SnapshotModel {
  return {
    id,
    displayName: id,
    owner: id.split('/')[0] ?? '',
    aliases: [],
    backendModel: null,
    upstreamModel: null,
    serve: [],
    contextWindow: null,
    caps: {},
    price: null,
    certified: true,
    published: true,
    verificationState: 'trusted',
    createdAt: new Date('2026-11-21T10:00:00Z'),
    ...given,
  }
}

/** An entry of `serve`: one backend that serves a model. */
export function serveEntry(backend: string, model: string, given: Partial<ServeEntry> = {}): ServeEntry {
  return { backend, model, when: 'always', rank: 0, weight: 1, ...given }
}
