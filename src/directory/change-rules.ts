/** What applying a directory file changes for people. */
export type DirectoryChanges = {
  /** The members that the file listed before. */
  readonly members: number
  readonly invited: number
  readonly withdrawn: number
  /** The `revision` of the file; null when it has none. */
  readonly revision: number | null
  /** The highest revision that was applied before; null when there was none. */
  readonly lastRevision: number | null
}

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
    return `Its revision ${revision} is older than revision ${lastRevision}, which was applied before.`
  const isNewer = revision !== null && (lastRevision === null || revision > lastRevision)
  if (isNewer || withdrawn < MIN_WITHDRAWALS || withdrawn <= members * MAX_SHARE) return null
  return (
    `It would withdraw ${withdrawn} of ${members} members and end their sessions. ` +
    'If that is intended, raise its "revision" or start with --force.'
  )
}

/** Says in words what applying a file has changed. */
export function describeChanges({ invited, withdrawn }: DirectoryChanges): string {
  const parts = [invited > 0 && `${invited} members were invited`, withdrawn > 0 && `${withdrawn} were withdrawn`]
  return parts.filter((part) => part !== false).join(', ') || 'no member was invited or withdrawn'
}
