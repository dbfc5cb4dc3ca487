import type { Caller } from '../../kernel/caller.ts'

/** Why a caller may follow a session of a team: its own sign-in, and its membership. */
export type FollowerAccess = Pick<Caller, 'accountId' | 'sessionId' | 'sessionKind'> & {
  /** The team of the session that is followed: `@organization/name`. */
  readonly team: string
}

type Needs = {
  /** Each finds which of these sign-ins are alive. */
  readonly findAlive: Readonly<Record<Caller['sessionKind'], (sessionIds: readonly string[]) => Promise<Set<string>>>>
  /** The teams that accounts are members of, as pairs. */
  readonly findTeamsOf: (accountIds: readonly string[]) => Promise<readonly (readonly [string, string])[]>
}

export type AccessWatch = {
  /** Calls `onEnd` once, within 5 s after the access has ended. Returns a function that stops watching. */
  watch(access: FollowerAccess, onEnd: () => void): () => void
  close(): void
}

const INTERVAL_MS = 2000

/** Asks every two seconds, for all followers at once. While the database cannot be reached, no stream is ended. */
export function makeAccessWatch({ findAlive, findTeamsOf }: Needs): AccessWatch {
  const watched = new Map<() => void, FollowerAccess>()
  let isChecking = false

  async function endStreamsWithoutAccess(): Promise<void> {
    const asked = [...watched]
    const ofKind = (kind: Caller['sessionKind']) =>
      unique(asked.filter(([, { sessionKind }]) => sessionKind === kind).map(([, { sessionId }]) => sessionId))
    const [device, browser, api_key, teams] = await Promise.all([
      findIfAny(ofKind('device'), findAlive.device),
      findIfAny(ofKind('browser'), findAlive.browser),
      findIfAny(ofKind('api_key'), findAlive.api_key),
      findTeamsOf(unique(asked.map(([, { accountId }]) => accountId))),
    ])
    const alive = { device, browser, api_key }
    const memberships = new Set(teams.map(([accountId, team]) => `${accountId} ${team}`))
    for (const [onEnd, { accountId, sessionId, sessionKind, team }] of asked) {
      const isGood = alive[sessionKind].has(sessionId) && memberships.has(`${accountId} ${team}`)
      if (!isGood && watched.delete(onEnd)) onEnd()
    }
  }

  async function check(): Promise<void> {
    if (isChecking || watched.size === 0) return
    isChecking = true
    await endStreamsWithoutAccess().catch(() => undefined)
    isChecking = false
  }

  const timer = setInterval(() => void check(), INTERVAL_MS).unref()
  return {
    watch(access, onEnd) {
      watched.set(onEnd, access)
      return () => void watched.delete(onEnd)
    },
    close: () => clearInterval(timer),
  }
}

function findIfAny(
  ids: readonly string[],
  find: (ids: readonly string[]) => Promise<Set<string>>,
): Promise<Set<string>> {
  return ids.length === 0 ? Promise.resolve(new Set()) : find(ids)
}

function unique(values: readonly string[]): string[] {
  return [...new Set(values)]
}
