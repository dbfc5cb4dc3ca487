/** The backends of the directory, which come and go while the gateway runs. */
import { isDeepStrictEqual } from 'node:util'
import { readAdminCredential } from '../../directory/admin-backends.ts'
import type { AdminBackend, AdminBackendTrust } from '../../directory/admin-backends.ts'
import type { DirectoryBackend } from '../../directory/backends.ts'
import type { ReadSecret } from '../../kernel/credentials/secret-source.ts'
import type { Secret } from '../../kernel/secret.ts'
import type { Logger } from '../../log.ts'
import type { Credential } from '../exchange/headers.ts'
import { closeBackend } from './backend.ts'
import type { Backend } from './backend.ts'
import { makeCheckedLookup } from './checked-lookup.ts'
import { openVendor } from './vendor.ts'
import type { VendorNeeds } from './vendor.ts'

/** A backend of the directory file, or one that admins of a team have added. */
export type BackendRow = DirectoryBackend | AdminBackend

export type ListedBackends = {
  /** The backends of these rows that can be called; the others are closed after their running calls. */
  apply(rows: readonly BackendRow[]): readonly Backend[]
  /** The rows that cannot be called here: the credential is missing, or the host is not allowed. */
  listUnusable(): readonly BackendRow[]
  /** Whether the file of a credential has a new content. A file that cannot be read counts as unchanged. */
  hasRenewedCredential(): boolean
  /** Aborts every call and closes every connection. */
  close(): Promise<void>
}

type Needs = VendorNeeds & {
  readonly readSecret: ReadSecret
  /** Null: backends of admins are not called. */
  readonly adminBackends: AdminBackendTrust | null
  readonly log: Logger
}

/** A backend that is open, or that cannot be called. */
type Listed = { readonly row: BackendRow; readonly secret: string | null; readonly backend: Backend | null }

/** What is sent with calls (null: nothing), or what reports why the backend cannot be called. */
type Credentials = { readonly secret: Secret | null } | { readonly report: () => void }

/** Opens each backend once, until its row changes. */
export function openListedBackends({ readSecret, adminBackends, log, ...needs }: Needs): ListedBackends {
  let known: ReadonlyMap<string, Listed> = new Map()
  const retiring = new Set<Backend>()

  function list(row: BackendRow): Listed {
    const last = known.get(row.name)
    const kept = last && isDeepStrictEqual(last.row, row) ? last : null
    const read = 'teamId' in row ? readOfAdmin(row) : readOfFile(row)
    if ('report' in read) {
      // Another program may write the file just now, so its last content stays in use.
      if (kept) return kept
      read.report()
      return { row, secret: null, backend: null }
    }
    const secret = read.secret?.reveal() ?? null
    if (kept && kept.secret === secret) return kept
    if (kept) log.info({ backend: row.name }, 'backend.credential_renewed')
    const credential = row.credential && read.secret && { as: row.credential.as, secret: read.secret }
    // A new credential changes neither the connections nor what calls have found out.
    return { row, secret, backend: kept?.backend ? { ...kept.backend, credential } : open(row, credential) }
  }

  function readOfFile({ name, credential }: DirectoryBackend): Credentials {
    const read = credential && readSecret(credential)
    if (!read || 'secret' in read) return { secret: read?.secret ?? null }
    const { mistake } = read
    return { report: () => log.error({ backend: name, mistake }, 'backend.credential_missing') }
  }

  function readOfAdmin(row: AdminBackend): Credentials {
    const opened = readAdminCredential(row, adminBackends)
    if ('secret' in opened) return opened
    return { report: () => log.error({ backend: row.name, problem: opened.problem }, 'backend.unusable') }
  }

  function isRenewed({ row, secret }: Listed): boolean {
    if ('teamId' in row || !row.credential?.file) return false
    const read = readSecret(row.credential)
    return 'secret' in read && read.secret.reveal() !== secret
  }

  function open(row: BackendRow, credential: Credential | null): Backend | null {
    const { name, dialects, basePath } = row
    if (row.url === null) return null
    const url = new URL(row.url)
    const headers = 'teamId' in row ? {} : row.headers
    const vendorNeeds = 'teamId' in row && adminBackends ? needsOfAdmin(url, adminBackends) : needs
    return openVendor({ name, url, basePath, credential, headers, dialects }, vendorNeeds)
  }

  /** Without a proxy, which would look up the name itself and connect to an address that was not checked. */
  function needsOfAdmin({ port }: URL, { hosts }: AdminBackendTrust): VendorNeeds {
    const lookup = makeCheckedLookup((address) => hosts.allowsAddress(address, port), needs.lookup)
    return { ...needs, lookup, outboundProxy: null }
  }

  function retire(backend: Backend): void {
    backend.condition.close()
    retiring.add(backend)
    const forget = () => void retiring.delete(backend)
    // It rejects when the gateway has been closed meanwhile.
    backend.pool.close().then(forget, forget)
  }

  return {
    apply(rows) {
      const next = new Map(rows.filter(({ url }) => url !== null).map((row) => [row.name, list(row)]))
      for (const [name, { backend }] of known)
        if (backend && next.get(name)?.backend?.pool !== backend.pool) retire(backend)
      known = next
      return openOf(next)
    },
    listUnusable: () => [...known.values()].flatMap(({ row, backend }) => (backend ? [] : row)),
    hasRenewedCredential: () => [...known.values()].some(isRenewed),
    async close() {
      await Promise.all([...retiring, ...openOf(known)].map(closeBackend))
    },
  }
}

function openOf(listed: ReadonlyMap<string, Listed>): Backend[] {
  return [...listed.values()].flatMap(({ backend }) => backend ?? [])
}
