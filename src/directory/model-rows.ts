/** The rows of models and backends. */
import { isDeepStrictEqual } from 'node:util'
import type { Prisma } from '../../generated/prisma/client.ts'
import type { DirectoryBackend, GivenCaps, ServeEntry } from './backends.ts'
import type { DirectoryModel } from './rules.ts'
import type { SnapshotModel } from './snapshot.ts'

type Transaction = Prisma.TransactionClient

/** The columns of JSON hold what was read from a directory file, so their types are known. */
export function toModel(row: Prisma.ModelGetPayload<object>): SnapshotModel {
  return { ...row, serve: row.serve as ServeEntry[], caps: row.caps as GivenCaps }
}

export function toBackend({ name, dialects, url, ...row }: Prisma.BackendGetPayload<object>): DirectoryBackend {
  const { credentialEnv: env, credentialFile: file, credentialAs: as } = row
  return { name, dialects, url, credential: as && { env, file, as: as === 'x_api_key' ? 'x-api-key' : 'bearer' } }
}

function toBackendRow({ name, dialects, url, credential }: DirectoryBackend) {
  const { env = null, file = null, as = null } = credential ?? {}
  const credentialAs = as === 'x-api-key' ? ('x_api_key' as const) : as
  return { name, dialects: [...dialects], url, credentialEnv: env, credentialFile: file, credentialAs }
}

/** Makes the rows of backends equal to the directory's. */
export async function applyBackends(tx: Transaction, backends: readonly DirectoryBackend[]): Promise<void> {
  const kept = new Map((await tx.backend.findMany()).map((row) => [row.name, row]))
  await tx.backend.deleteMany({ where: { name: { notIn: backends.map(({ name }) => name) } } })
  for (const data of backends.map(toBackendRow)) {
    const row = kept.get(data.name)
    if (!row) await tx.backend.create({ data })
    else if (differs(row, data)) await tx.backend.update({ where: { name: data.name }, data })
  }
}

/** Makes the rows of models equal to the directory's. */
export async function applyModels(tx: Transaction, models: readonly DirectoryModel[], now: Date): Promise<void> {
  const kept = new Map((await tx.model.findMany()).map((row) => [row.id, row]))
  const wanted = models.map((model) => ({ ...model, aliases: [...model.aliases], serve: [...model.serve] }))
  await tx.model.deleteMany({ where: { id: { notIn: models.map(({ id }) => id) } } })
  await tx.model.createMany({
    data: wanted.filter(({ id }) => !kept.has(id)).map((model) => ({ ...model, createdAt: now })),
  })
  for (const model of wanted) {
    const row = kept.get(model.id)
    if (row && differs(row, model)) await tx.model.update({ where: { id: model.id }, data: model })
  }
}

/** Whether a row lacks one of these values. JSON counts by its content. */
export function differs<Row extends object>(row: Row, wanted: Partial<Row>): boolean {
  return (Object.keys(wanted) as (keyof Row)[]).some((key) => !isDeepStrictEqual(row[key], wanted[key]))
}
