import type { Database, Transaction } from '../../database/client.ts'
import { contextOfCredential, judgeAdminBackend } from '../../directory/admin-backends.ts'
import type { AdminBackend, AdminBackendSettings, AdminBackendTrust } from '../../directory/admin-backends.ts'
import type { DirectoryBackend } from '../../directory/backends.ts'
import { taken } from '../../directory/mistakes.ts'
import { toAdminBackend, toAdminModel, toBackend, toHeaderColumn } from '../../directory/rows/model-rows.ts'
import type { SnapshotModel } from '../../directory/rules.ts'
import { serveEntriesOf } from '../../directory/serve-entries.ts'
import { refuseOutdated, versionOfBackend } from '../../directory/version.ts'
import type { Versioned } from '../../directory/version.ts'
import { isName } from '../../kernel/team-name.ts'
import { saveTeamEvent } from '../audit/save-team-event.ts'
import { changeDirectory } from '../directory-change.ts'
import type { DirectoryRefusal } from '../directory-change.ts'
import type { TeamActor } from '../team-access.ts'
import { loadTeamModels } from '../team-models/store.ts'

export type BackendsOfTeam = {
  /** Of the directory file: those that serve a model of the team. */
  readonly fileBackends: readonly DirectoryBackend[]
  /** Added by admins. */
  readonly adminBackends: readonly AdminBackend[]
}

export type TeamBackendStore = ReturnType<typeof makeTeamBackendStore>

/** The backends that admins of teams add. */
export function makeTeamBackendStore({ prisma: db }: Pick<Database, 'prisma'>) {
  return {
    /** `loaded`: the models of the directory file that the team may use, where the caller has loaded them already. */
    async find(teamId: string, loaded?: readonly SnapshotModel[]): Promise<BackendsOfTeam> {
      const fileModels = loaded ?? (await loadTeamModels(db, teamId)).fileModels
      const serving = new Set(fileModels.flatMap((model) => serveEntriesOf(model).map(({ backend }) => backend)))
      const rows = await db.backend.findMany({ where: { name: { in: [...serving] } } })
      return { fileBackends: rows.map(toBackend), adminBackends: await findAdminBackends(db, teamId) }
    },

    /** Those that admins of the team have added. */
    findAdded: (teamId: string) => findAdminBackends(db, teamId),

    /** Adds a backend, or changes one that an admin has added, with its audit row. `version`: as for models. */
    put: (
      admin: TeamActor,
      name: string,
      { version, ...wanted }: AdminBackendSettings & Versioned,
      trust: AdminBackendTrust,
      now: Date,
    ): Promise<DirectoryRefusal | null> =>
      changeDirectory(db, admin, now, async (tx) => {
        const { teamId, team } = admin
        const existing = await findAdminBackends(tx, teamId)
        const current = existing.find((backend) => backend.name === name) ?? null
        const outdated = refuseOutdated(version, current && versionOfBackend(current))
        if (outdated) return outdated
        const mistake = judgeAdminBackend(name, wanted, { team, hosts: trust.hosts, existing })
        if (mistake) return mistake
        const id = { name, teamId }
        const columns = { ...toColumns(wanted), ...toCredentialColumns(id, wanted, trust, now) }
        await tx.adminBackend.upsert({
          where: { name },
          create: { ...id, ...columns, createdAt: now },
          update: columns,
        })
        const kind = current ? 'backend.changed' : 'backend.created'
        const details = { name, ...toDetails(wanted, current) }
        await saveTeamEvent(tx, admin, { kind, subjectId: name, details }, now)
        return null
      }),

    /** Deletes a backend that an admin has added and that no model uses, with its audit row. */
    remove: (admin: TeamActor, name: string, now: Date): Promise<DirectoryRefusal | null> =>
      changeDirectory(db, admin, now, async (tx) => {
        const { teamId } = admin
        const added = await findAdminBackends(tx, teamId)
        if (!added.some((backend) => backend.name === name)) return refuseUnknown(tx, name)
        const models = await tx.adminModel.findMany({ where: { teamId }, orderBy: { id: 'asc' } })
        const users = models.map(toAdminModel).filter(({ serve }) => serve.some(({ backend }) => backend === name))
        if (users.length > 0) return refuseUsed(users.map(({ id }) => id))
        await tx.adminBackend.delete({ where: { name } })
        await saveTeamEvent(tx, admin, { kind: 'backend.deleted', subjectId: name, details: { name } }, now)
        return null
      }),

    /**
     * Encrypts the credentials again that were encrypted with a former key. Resolves with how many those were, and how
     * many cannot be decrypted, which stay as they are.
     */
    async reencrypt({ cipher }: AdminBackendTrust): Promise<{ encrypted: number; unreadable: number }> {
      const rows = await db.adminBackend.findMany({ where: { credentialKeyId: { not: cipher.keyId } } })
      const counts = { encrypted: 0, unreadable: 0 }
      for (const { name, teamId, credential } of rows.map(toAdminBackend)) {
        const context = contextOfCredential({ name, teamId })
        const secret = credential && cipher.decrypt(credential.encrypted, context)
        if (secret) {
          const { keyId, bytes } = cipher.encrypt(secret, context)
          // Only while no admin sets another credential.
          const where = { name, encryptedCredential: credential.encrypted.bytes }
          const data = { credentialKeyId: keyId, encryptedCredential: bytes }
          counts.encrypted += (await db.adminBackend.updateMany({ where, data })).count
        } else counts.unreadable += 1
      }
      return counts
    },
  }
}

async function findAdminBackends(db: Transaction, teamId: string): Promise<AdminBackend[]> {
  return (await db.adminBackend.findMany({ where: { teamId }, orderBy: { name: 'asc' } })).map(toAdminBackend)
}

function toColumns({ dialects, url, basePath }: AdminBackendSettings) {
  return { dialects: [...dialects], url, basePath }
}

/** Nothing when the credential stays as it is. */
function toCredentialColumns(
  id: Pick<AdminBackend, 'name' | 'teamId'>,
  { credential }: AdminBackendSettings,
  { cipher }: AdminBackendTrust,
  now: Date,
) {
  if (credential === undefined) return {}
  if (credential === null)
    return { encryptedCredential: null, credentialKeyId: null, credentialAs: null, credentialSetAt: null }
  const { keyId, bytes } = cipher.encrypt(credential.value, contextOfCredential(id))
  const credentialAs = toHeaderColumn(credential.as)
  return { encryptedCredential: bytes, credentialKeyId: keyId, credentialAs, credentialSetAt: now }
}

async function refuseUnknown(tx: Transaction, name: string): Promise<DirectoryRefusal> {
  // The database cannot read every text.
  const isListed = isName(name) && (await tx.backend.findUnique({ where: { name } })) !== null
  if (!isListed) return { kind: 'not_found' }
  return taken([], `The directory file lists the backend ${name}. Change it there and reload the service.`)
}

function refuseUsed(ids: readonly string[]): DirectoryRefusal {
  return taken([], `Models of the team use this backend: ${ids.join(', ')}. Change or delete them first.`)
}

/** What an audit row says of a backend: never its credential, and of its address only the host. */
function toDetails({ dialects, url, credential }: AdminBackendSettings, current: AdminBackend | null) {
  const before = credential === null ? 'removed' : 'kept'
  const state = credential ? 'set' : current?.credential ? before : 'none'
  return { host: new URL(url).host, dialects: [...dialects], credential: state }
}
