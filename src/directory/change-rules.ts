export type Counted = { readonly added: number; readonly changed: number; readonly removed: number }

/** What applying a directory file changes. */
export type DirectoryChanges = {
  /** The members that the file listed before, and those whom admins have invited to teams that it removes. */
  readonly members: number
  readonly invited: number
  /** Members who got another role. */
  readonly roles: number
  readonly withdrawn: number
  /** A team is changed when its default model, its time zone or its list of models is. */
  readonly teams: Counted
  readonly models: Counted
  readonly backends: Counted
  /** The `revision` of the file; null when it has none. */
  readonly revision: number | null
  /** The highest revision that was applied before; null when there was none. */
  readonly lastRevision: number | null
  /** What admins have added and the file lists too, so that the file's counts; absent when there is none. */
  readonly overridden?: Overridden
}

/** The members that become the file's, and the models of admins with an id or alias of the file. */
export type Overridden = { readonly members: number; readonly models: readonly string[] }

/** Fewer withdrawals than this are always allowed, so that a small team can be changed freely. */
const MIN_WITHDRAWALS = 5

/** The share of all members that a file may withdraw without a newer revision. */
const MAX_SHARE = 0.3

/**
 * Says why a directory file must not be applied, or null when it may. An old copy of the file withdraws the members who
 * were added since, and their sessions stay ended when the right file is back. So a file with an older revision is
 * refused, and a file that withdraws more than 30 % of the members, and at least five, needs a newer revision.
 */
export function findRefusal({ members, withdrawn, revision, lastRevision }: DirectoryChanges): string | null {
  if (revision !== null && lastRevision !== null && revision < lastRevision)
    return `Its revision ${revision} is older than revision ${lastRevision}, which was applied before. ${INTENDED}`
  const isNewer = revision !== null && (lastRevision === null || revision > lastRevision)
  if (isNewer || withdrawn < MIN_WITHDRAWALS || withdrawn <= members * MAX_SHARE) return null
  return `It would withdraw ${withdrawn} of ${members} members and end their sessions. ${INTENDED}`
}

const INTENDED = 'If that is intended, raise its "revision", or use --force (svc reload --force, svc serve --force).'

/** Says in words what applying a file has changed, such as `members: 2 invited, 1 withdrawn; models: 1 changed`. */
export function describeChanges({ invited, roles, withdrawn, teams, models, backends }: DirectoryChanges): string {
  const parts = Object.entries({ members: { invited, 'with another role': roles, withdrawn }, teams, models, backends })
  const texts = parts.flatMap(([name, counts]) => {
    const given = Object.entries(counts).filter(([, count]) => count > 0)
    return given.length > 0 ? [`${name}: ${given.map(([what, count]) => `${count} ${what}`).join(', ')}`] : []
  })
  return texts.join('; ') || 'nothing has changed'
}
