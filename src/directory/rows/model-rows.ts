/** The rows of models and backends. */
import { isDeepStrictEqual } from 'node:util'
import type { CredentialHeader as HeaderColumn, Prisma } from '../../../generated/prisma/client.ts'
import type { Transaction } from '../../database/client.ts'
import { CREDENTIAL_HEADERS } from '../../kernel/credentials/credential-header.ts'
import type { CredentialHeader } from '../../kernel/credentials/credential-header.ts'
import type { AdminBackend } from '../admin-backends.ts'
import type { AdminModel } from '../admin-models.ts'
import type { DirectoryBackend, GivenCaps, ServeEntry } from '../backends.ts'
import type { GivenPrice } from '../prices.ts'
import { toSnapshotModel } from '../rules.ts'
import type { DirectoryModel, SnapshotModel } from '../rules.ts'
import { batchesOf, compareRows } from './compare.ts'
import type { RowChanges } from './compare.ts'

/** The columns of JSON hold what was read from a directory file, so their types are known. */
export function toModel(row: Prisma.ModelGetPayload<object>): SnapshotModel {
  const { createdAt, ...columns } = row
  const json = { serve: row.serve as ServeEntry[], caps: row.caps as GivenCaps, price: toPrice(row.price) }
  return toSnapshotModel({ ...columns, ...json }, createdAt)
}

/** The row of a model that admins of a team have added. */
export function toAdminModel(row: Prisma.AdminModelGetPayload<object>): AdminModel {
  const { id, displayName, aliases, contextWindow, published, createdAt } = row
  const serve = row.serve as ServeEntry[]
  return { id, displayName, aliases, serve, contextWindow, caps: row.caps as GivenCaps, published, createdAt }
}

/** What the column holds for a model without a price of its own. */
const NO_PRICE = {}

function toPrice(column: Prisma.JsonValue): GivenPrice | null {
  return isDeepStrictEqual(column, NO_PRICE) ? null : (column as GivenPrice)
}

/** Converts the header of a credential to its column. The names of Prisma's enumerations have no hyphens. */
export function toHeaderColumn(header: CredentialHeader): HeaderColumn {
  return header === 'x-api-key' ? 'x_api_key' : header
}

function fromHeaderColumn(column: HeaderColumn): CredentialHeader {
  return column === 'x_api_key' ? 'x-api-key' : column
}

/** The backend of a row of the directory file. */
export function toBackend({ name, dialects, url, ...row }: Prisma.BackendGetPayload<object>): DirectoryBackend {
  const { basePath, credentialEnv: env, credentialFile: file, credentialAs, credentialHeader } = row
  const credential = credentialAs && { env, file, as: credentialHeader ?? fromHeaderColumn(credentialAs) }
  return { name, dialects, url, basePath, credential, headers: row.headers as Record<string, string> }
}

/** The row of a backend that admins of a team have added. */
export function toAdminBackend(row: Prisma.AdminBackendGetPayload<object>): AdminBackend {
  const { name, teamId, dialects, url, basePath, encryptedCredential: bytes, credentialKeyId: keyId } = row
  const { credentialAs: as, credentialSetAt: setAt } = row
  const credential =
    bytes && keyId !== null && as && setAt ? { as: fromHeaderColumn(as), encrypted: { keyId, bytes }, setAt } : null
  return { name, teamId, dialects, url, basePath, credential }
}

function toBackendRow({ name, dialects, url, basePath, credential, headers = {} }: DirectoryBackend) {
  const { env: credentialEnv = null, file: credentialFile = null, as = null } = credential ?? {}
  const known = CREDENTIAL_HEADERS.find((header) => header === as)
  const credentialAs = credential && toHeaderColumn(known ?? 'x-api-key')
  const credentialHeader = known ? null : as
  const columns = { credentialEnv, credentialFile, credentialAs, credentialHeader, headers }
  return { name, dialects: [...dialects], url, basePath, ...columns }
}

export type BackendChanges = RowChanges<Prisma.BackendGetPayload<object>, ReturnType<typeof toBackendRow>>

/** Compares the rows of backends with the directory's. */
export async function findBackendChanges(
  db: Transaction,
  backends: readonly DirectoryBackend[],
): Promise<BackendChanges> {
  const kept = new Map((await db.backend.findMany()).map((row) => [row.name, row]))
  return compareRows(kept, new Map(backends.map((backend) => [backend.name, toBackendRow(backend)])), differs)
}

/** Writes the changes of the backends of the directory file, with their audit rows. */
export async function saveBackendChanges(tx: Transaction, changes: BackendChanges, now: Date): Promise<void> {
  const { added, changed, removed } = changes
  for (const batch of batchesOf(removed))
    await tx.backend.deleteMany({ where: { name: { in: batch.map(({ name }) => name) } } })
  for (const batch of batchesOf(added)) await tx.backend.createMany({ data: batch })
  for (const { row, wanted } of changed) await tx.backend.update({ where: { name: row.name }, data: wanted })
  await saveEvents(tx, 'backend', changes, ({ name }) => name, now)
}

export type ModelChanges = RowChanges<Prisma.ModelGetPayload<object>, ReturnType<typeof toModelRow>>

function toModelRow(model: DirectoryModel) {
  return { ...model, aliases: [...model.aliases], serve: [...model.serve], price: model.price ?? NO_PRICE }
}

/** Compares the rows of models with the directory's. */
export async function findModelChanges(db: Transaction, models: readonly DirectoryModel[]): Promise<ModelChanges> {
  const kept = new Map((await db.model.findMany()).map((row) => [row.id, row]))
  return compareRows(kept, new Map(models.map((model) => [model.id, toModelRow(model)])), differs)
}

/** Writes the changes of the models of the directory file, with their audit rows. */
export async function saveModelChanges(tx: Transaction, changes: ModelChanges, now: Date): Promise<void> {
  const { added, changed, removed } = changes
  for (const batch of batchesOf(removed))
    await tx.model.deleteMany({ where: { id: { in: batch.map(({ id }) => id) } } })
  for (const batch of batchesOf(added)) {
    await tx.model.createMany({ data: batch.map((model) => ({ ...model, createdAt: now })) })
  }
  for (const { row, wanted } of changed) await tx.model.update({ where: { id: row.id }, data: wanted })
  await saveEvents(tx, 'model', changes, ({ id }) => id, now)
}

/**
 * Writes an audit row for each model or backend that the file has changed. They belong to no team. A changed one names
 * its changed fields without their values, because an address may contain a secret.
 */
async function saveEvents<Row extends object, Wanted extends object>(
  tx: Transaction,
  subject: 'model' | 'backend',
  { added, changed, removed }: RowChanges<Row, Wanted>,
  nameOf: (row: Row | Wanted) => string,
  now: Date,
): Promise<void> {
  const toEvent = (action: 'created' | 'changed' | 'deleted', name: string, details: object = {}) => {
    return { kind: `${subject}.${action}`, at: now, subjectId: name, details: { name, ...details } }
  }
  const events = [
    ...added.map((row) => toEvent('created', nameOf(row))),
    ...changed.map(({ row, wanted }) => toEvent('changed', nameOf(row), { fields: listChanged(row, wanted) })),
    ...removed.map((row) => toEvent('deleted', nameOf(row))),
  ]
  for (const batch of batchesOf(events)) await tx.auditEvent.createMany({ data: batch })
}

function differs(row: object, wanted: object): boolean {
  return listChanged(row, wanted).length > 0
}

/** The columns in which a row has another value than these. JSON counts by its content. */
function listChanged(row: object, wanted: object): string[] {
  const values: Readonly<Record<string, unknown>> = { ...row }
  return Object.entries(wanted).flatMap(([name, value]) => (isDeepStrictEqual(values[name], value) ? [] : name))
}
