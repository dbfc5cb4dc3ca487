import type { TeamBackend, TeamBackendList } from '../../../generated/openapi.ts'
import { readAdminCredential } from '../../directory/admin-backends.ts'
import type { AdminBackend, AdminBackendTrust } from '../../directory/admin-backends.ts'
import type { DirectoryBackend } from '../../directory/backends.ts'
import { versionOfBackend } from '../../directory/version.ts'
import type { BackendsOfTeam } from './store.ts'

/**
 * Converts the backends of a team to the contract's. No credential is among them, and of the backends of the file not
 * even the address, which is the operator's.
 */
export function toTeamBackends(
  { fileBackends, adminBackends }: BackendsOfTeam,
  trust: AdminBackendTrust | null,
): TeamBackendList {
  const backends = [
    ...fileBackends.map(toFileBackend),
    ...adminBackends.map((backend) => toAddedBackend(backend, trust)),
  ]
  return {
    allowedHosts: [...(trust?.hosts.names ?? [])],
    backends: backends.toSorted((a, b) => (a.name < b.name ? -1 : 1)),
  }
}

function toFileBackend({ name, dialects }: DirectoryBackend): TeamBackend {
  const unknown = { url: null, basePath: null, credential: null, problem: null, version: null }
  return { name, source: 'file', dialects: [...dialects], ...unknown }
}

/** Converts a backend that an admin has added. Its credential is not shown. */
export function toAddedBackend(backend: AdminBackend, trust: AdminBackendTrust | null): TeamBackend {
  const { name, dialects, url, basePath, credential } = backend
  const opened = readAdminCredential(backend, trust)
  return {
    name,
    source: 'admin',
    dialects: [...dialects],
    url,
    basePath: basePath || '/',
    credential: credential && { as: credential.as, setAt: credential.setAt.toISOString() },
    problem: 'problem' in opened ? opened.problem : null,
    version: versionOfBackend(backend),
  }
}
