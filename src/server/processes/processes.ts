import cluster from 'node:cluster'
import type { Worker as Child } from 'node:cluster'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Config } from '../../config/values.ts'
import { OperatorError } from '../../kernel/operator-error.ts'
import type { Logger } from '../../log.ts'
import { openManagement } from '../management.ts'
import { countEvents, serveMetrics } from '../telemetry/metrics.ts'
import { isFromChild, tell } from './child-messages.ts'
import { openMetricsOfChildren } from './metrics-of-children.ts'
import { reloadChildren } from './reload-children.ts'
import { makeKeepFiles } from './shared-files.ts'
import { openSharedPort } from './shared-port.ts'

/** Several processes that serve one port, and this process above them. */
export type Processes = {
  /** As `Running.reload`, in one process after the other. Resolves with the answer of the first. */
  reload(force?: boolean): Promise<string>
  /** Stops all processes as `Running.stop` does, and waits for their end. Kills those that hang. */
  stop(): Promise<void>
}

/** The first process could not start. It has printed why. */
class ProcessStartError extends OperatorError {
  override readonly name = 'ProcessStartError'
}

/** The wait before an ended process is replaced. It doubles each time, from the minimum to the maximum. */
const [MIN_WAIT_MS, MAX_WAIT_MS] = [1000, 10_000]

/** A process that has served for this long is replaced after the shortest wait. */
const STABLE_MS = 60_000

/** How long a process may take to close everything, after the calls that it serves had their time to end. */
const MAX_CLOSE_MS = 10_000

/**
 * Starts SVC_PROCESSES processes and replaces those that end. The first one starts alone, so that a mistake is reported
 * once. This process gives them the connections of their port, and serves the metrics of all of them and the management
 * socket. `fileSettings`: what the files of settings contain, for a process that cannot read them any more.
 */
export async function openProcesses(config: Config, fileSettings: string, given: Logger): Promise<Processes> {
  const { processes: count, managementSocket, host, metricsPort, stop } = config
  const { log, eventMetrics: own } = countEvents(given)
  const stopping = new AbortController()
  const keepFiles = makeKeepFiles(fileSettings)
  const fork = () => {
    const child = cluster.fork()
    // Each request to a process adds a listener until its answer arrives, and many may be open at once.
    child.setMaxListeners(0)
    keepFiles(child)
    return child
  }
  const first = await startFirst(fork)
  const metrics =
    metricsPort === null ? null : await serveMetrics(await openMetricsOfChildren(running, own), host, metricsPort, log)
  const actions = { reload: (options: URLSearchParams) => reloadChildren(running(), options.has('force'), log) }
  const management = managementSocket === null ? null : await openManagement(managementSocket, actions, log)
  // Opened last: once connections can arrive, a signal to stop must find a service that has started.
  const port = await openSharedPort(host, config.port).catch(async (error: unknown) => {
    await management?.close()
    throw error
  })
  port.add(first)
  const start = () => {
    const child = fork()
    void isReady(child).then((ready) => ready && port.add(child))
    return child
  }
  const keepers = Array.from({ length: count }, (_, at) => {
    return keepRunning(at === 0 ? first : start(), start, stopping.signal, log)
  })
  return {
    reload: (force = false) => reloadChildren(running(), force, log),
    async stop() {
      stopping.abort()
      const managed = management?.close()
      for (const child of running()) tell(child, { type: 'stop' })
      // They serve new connections as long as they drain.
      await sleep(stop.drainSeconds * 1000)
      port.close()
      await orKill(Promise.all(keepers), running, stop.stopSeconds * 1000 + MAX_CLOSE_MS, log)
      await managed
      await metrics?.close()
    },
  }
}

/** Rejects with a `ProcessStartError` when the process ends before it can serve. */
async function startFirst(fork: () => Child): Promise<Child> {
  const child = fork()
  if (!(await isReady(child))) throw new ProcessStartError('The service could not start. The reason is above.')
  return child
}

/** Resolves with true when the process can serve connections, with false when it ends before that. */
function isReady(child: Child): Promise<boolean> {
  return new Promise((resolve) => {
    child.on('message', (message: unknown) => {
      if (isFromChild(message) && message.type === 'ready') resolve(true)
    })
    child.once('exit', () => resolve(false))
  })
}

/** Keeps one process running until the service stops. */
export async function keepRunning(
  first: Child,
  startNext: () => Child,
  stopping: AbortSignal,
  log: Pick<Logger, 'error'>,
): Promise<void> {
  const hasStopped = () => stopping.aborted
  let waitMs = MIN_WAIT_MS
  for (let start = () => first; ; start = startNext) {
    const startedAt = performance.now()
    const end = await waitForEnd(start)
    if (hasStopped()) return
    if (performance.now() - startedAt >= STABLE_MS) waitMs = MIN_WAIT_MS
    log.error({ ...end, replacedAfterMs: waitMs }, 'process.ended')
    await sleep(waitMs, undefined, { signal: stopping }).catch(() => undefined)
    if (hasStopped()) return
    waitMs = Math.min(2 * waitMs, MAX_WAIT_MS)
  }
}

/** Starts a process, and resolves with how it has ended, for the log. */
async function waitForEnd(start: () => Child): Promise<object> {
  try {
    const child = start()
    if (!child.isDead()) await once(child, 'exit')
    const { pid, exitCode: code, signalCode: signal } = child.process
    return { pid, code, signal }
  } catch (err) {
    // The system has refused to start it, for example because there is not enough memory now.
    return { err }
  }
}

/** Waits for the end of all processes. Kills those that are left after `maxMs`. */
export async function orKill(
  ended: Promise<unknown>,
  left: () => readonly Pick<Child, 'process'>[],
  maxMs: number,
  log: Pick<Logger, 'error'>,
): Promise<void> {
  const killing = setTimeout(() => {
    for (const { process } of left()) {
      log.error({ pid: process.pid }, 'process.killed')
      process.kill('SIGKILL')
    }
  }, maxMs)
  await ended
  clearTimeout(killing)
}

function running(): Child[] {
  return Object.values(cluster.workers ?? {}).filter((child) => child !== undefined && child.isConnected()) as Child[]
}
