/** The backends that the directory file lists, which come and go while the gateway runs. */
import { isDeepStrictEqual } from 'node:util'
import type { DirectoryBackend } from '../../directory/backends.ts'
import type { Secret } from '../../kernel/secret.ts'
import type { ReadSecret } from '../../kernel/secret-source.ts'
import type { Logger } from '../../log.ts'
import type { Credential } from '../exchange/headers.ts'
import { closeBackend } from './backend.ts'
import type { Backend, Timeouts } from './backend.ts'
import { openUpstream } from './upstream.ts'

export type ListedBackends = {
  /** The backends of these rows that can be called; the others are closed after their running calls. */
  apply(rows: readonly DirectoryBackend[]): readonly Backend[]
  /** Breaks off every call and closes every connection. */
  close(): Promise<void>
}

type Needs = Timeouts & { readonly readSecret: ReadSecret; readonly log: Logger }

/** A backend that is open, or that cannot be called because its credential is missing here. */
type Listed = { readonly row: DirectoryBackend; readonly secret: string | null; readonly backend: Backend | null }

/** Opens each backend once, until its row or its credential changes. */
export function openListedBackends({ readSecret, log, ...timeouts }: Needs): ListedBackends {
  let known: readonly Listed[] = []
  const retiring = new Set<Backend>()

  function list(row: DirectoryBackend): Listed {
    const read = row.credential && readSecret(row.credential)
    const mistake = read && 'mistake' in read ? read.mistake : null
    const secret = read && 'secret' in read ? read.secret : null
    const kept = known.find((one) => isDeepStrictEqual(one.row, row) && one.secret === (secret?.reveal() ?? null))
    if (kept) return kept
    if (mistake !== null) log.error({ backend: row.name, mistake }, 'backend.credential_missing')
    return { row, secret: secret?.reveal() ?? null, backend: mistake === null ? open(row, secret) : null }
  }

  function open({ name, dialects, url, credential }: DirectoryBackend, secret: Secret | null): Backend | null {
    if (url === null) return null
    const sent: Credential | null = credential && secret && { as: credential.as, secret }
    return openUpstream({ name, url: new URL(url), credential: sent, dialects }, timeouts)
  }

  function retire(backend: Backend): void {
    retiring.add(backend)
    void backend.pool.close().finally(() => retiring.delete(backend))
  }

  return {
    apply(rows) {
      const next = rows.filter(({ url }) => url !== null).map(list)
      for (const { backend } of known) if (backend && !next.some((one) => one.backend === backend)) retire(backend)
      known = next
      return next.flatMap(({ backend }) => backend ?? [])
    },
    async close() {
      await Promise.all([...retiring, ...known.flatMap(({ backend }) => backend ?? [])].map(closeBackend))
    },
  }
}
