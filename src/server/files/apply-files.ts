import cluster from 'node:cluster'
import type { Config } from '../../config/values.ts'
import { OperatorError } from '../../kernel/operator-error.ts'
import type { Logger } from '../../log.ts'
import type { Service } from '../compose.ts'
import type { Resources } from '../roles.ts'

/**
 * Applies the directory file and the price file again, and resolves with a sentence for each that says what has
 * changed. A refused file changes nothing and does not keep the other from being applied; the log says why, and the
 * promise rejects with a `RefusedFileError`. `force`: apply the directory file even when it withdraws most of the
 * members.
 */
export type Reload = (force?: boolean) => Promise<string>

/** The files that a start has applied. */
export type AppliedFiles = {
  readonly reload: Reload
  /** Resolves when the reloads that have begun have ended. */
  settled(): Promise<void>
}

/** A file that a start and a reload apply. */
type AppliedFile = {
  apply(force?: boolean): Promise<string>
  /** Applies what the processes before this one use instead. Resolves with false when there is nothing. */
  applyShared(): Promise<boolean>
}

/**
 * Applies both files at a start, and resolves with what does so again. Rejects when a file is refused, but for one of
 * several processes that is not the first: it then uses what the others use.
 */
export async function applyFiles(
  config: Config,
  service: Service,
  { log }: Pick<Resources, 'log'>,
  force: boolean,
): Promise<AppliedFiles> {
  const directory = makeDirectoryFile(config, service, log)
  const prices = makePricesFile(config, service, log)
  const reloadDirectory = (forced?: boolean) =>
    directory.apply(forced).catch((err: unknown) => {
      log.error({ err }, 'directory.rejected')
      throw err
    })
  const reloadPrices = () =>
    prices.apply().catch((err: unknown) => {
      log.error({ err }, 'prices.rejected')
      throw err
    })
  if (isLaterProcess()) {
    await reloadPrices().catch(orShared(prices))
    await reloadDirectory(force).catch(orShared(directory))
  } else {
    await prices.apply()
    await directory.apply(force)
  }
  return inOrder((forced) => {
    if (!config.directoryFile && !config.pricesFile) log.info({}, 'reload.without_files')
    return joinSentences([reloadDirectory(forced), reloadPrices()])
  })
}

/** Whether this is one of several processes, and not the first: that one ends when a file has a mistake. */
function isLaterProcess(): boolean {
  return (cluster.worker?.id ?? 1) > 1
}

/** Uses what the other processes use when a file was refused. Throws any other error. */
function orShared({ applyShared }: AppliedFile): (error: unknown) => Promise<void> {
  return async (error) => {
    if (!(error instanceof OperatorError) || !(await applyShared())) throw error
  }
}

function makeDirectoryFile(config: Config, service: Service, log: Logger): AppliedFile {
  const { directoryFile: file } = config
  // A control plane calls no backend, so it need not have their credentials.
  const readSecret = config.role === 'control-plane' ? null : config.readSecret
  const isShared = config.database === null
  return {
    async apply(force = false) {
      if (!file) return 'SVC_DIRECTORY_FILE is not set, so there is no file to apply.'
      const { applyDirectoryFile } = await import('./directory-file.ts')
      return applyDirectoryFile({ file, readSecret, service, force, isShared, log })
    },
    async applyShared() {
      // The database has the directory that the processes before this one have applied.
      if (!isShared || !file) return true
      const { applySharedDirectory } = await import('./directory-file.ts')
      return applySharedDirectory({ file, service })
    },
  }
}

function makePricesFile({ role, pricesFile }: Config, service: Service, log: Logger): AppliedFile {
  // A control plane serves no calls.
  const file = role === 'control-plane' ? null : pricesFile
  return {
    async apply() {
      if (!file) return ''
      const { applyPricesFile } = await import('./prices-file.ts')
      return applyPricesFile({ file, service, log })
    },
    async applyShared() {
      if (!file) return true
      const { applySharedPrices } = await import('./prices-file.ts')
      return applySharedPrices({ file, service })
    },
  }
}

/** Begins a reload when the one before has ended, so that no file stays that was read before another one. */
function inOrder(run: Reload): AppliedFiles {
  let last: Promise<unknown> = Promise.resolve()
  return {
    reload(force) {
      const next = last.then(() => run(force))
      last = next.catch(() => undefined)
      return next
    },
    async settled() {
      await last
    },
  }
}

/** The sentences in one text. Waits for all of them, also when one of them fails, and then rejects. */
async function joinSentences(applying: readonly Promise<string>[]): Promise<string> {
  await Promise.allSettled(applying)
  return (await Promise.all(applying)).filter((sentence) => sentence !== '').join('\n')
}
