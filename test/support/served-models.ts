import type { ServeEntry } from '../../src/directory/backends.ts'
import { toSnapshotModel } from '../../src/directory/rules.ts'
import type { DirectoryModel, SnapshotModel } from '../../src/directory/rules.ts'

/** Members of a model, as a test gives them. */
export type GivenModel = Partial<DirectoryModel & Pick<SnapshotModel, 'createdAt'>>

/** A model that may be called, with the members that the test gives. */
export function servedModel(
  id: string,
  { createdAt = new Date('2026-11-21T10:00:00Z'), ...given }: GivenModel = {},
): SnapshotModel {
  const model = {
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
    ...given,
  }
  return toSnapshotModel(model, createdAt)
}

/** An entry of `serve`: one backend that serves a model. */
export function serveEntry(backend: string, model: string, given: Partial<ServeEntry> = {}): ServeEntry {
  return { backend, model, when: 'always', rank: 0, weight: 1, ...given }
}
