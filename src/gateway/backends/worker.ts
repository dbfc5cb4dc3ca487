import type { Clock } from '../../kernel/clock.ts'
import { random } from '../../kernel/random.ts'
import type { Secret } from '../../kernel/secret.ts'
import type { Logger } from '../../log.ts'
import { WORKER_NAME } from '../../kernel/backend-name.ts'
import { VERSION_AT_END } from '../../kernel/network/backend-url.ts'
import type { Dialect } from '../dialects/dialect.ts'
import { DIALECTS } from '../dialects/dialects.ts'
import { toBackendHeaders } from '../exchange/headers.ts'
import type { BackendRequest } from '../exchange/send.ts'
import { sendAndWait } from '../exchange/send.ts'
import { openBackendPool } from './backend.ts'
import type { Backend, BackendDialects, PoolSettings } from './backend.ts'
import { openCondition } from './condition.ts'
import { BACKEND_KINDS } from './kinds.ts'
import { openNativeDialects } from './native-dialects.ts'
import type { NativeDialects, SendProbe } from './native-dialects.ts'
import { openProbe } from './probe.ts'
import { judgeModel, readModelList } from './worker-state.ts'
import type { ProbeResult } from './worker-state.ts'

/** The local worker: a backend whose state and dialects are found out by requests to it. */
export type Worker = Backend & {
  /** The models that it lists, from an answer that is at most a second old. Resolves within a second. */
  checkModels(): Promise<ProbeResult>
}

export type WorkerSettings = {
  readonly url: URL
  readonly apiKey: Secret | null
  readonly maxTokens: number
  readonly idleTimeoutMs: number
}

type Needs = Omit<PoolSettings, 'idleTimeoutMs'> & { readonly clock: Clock; readonly log: Logger }

/** The maximum age of the state that is used to plan a call. */
const MAX_AGE_MS = 10_000

/** The maximum age of the state in the answer of `GET /v1/workers`. */
const MAX_SHOWN_AGE_MS = 1_000

/** `checkModels` resolves within a second, so its request must take less. */
const PROBE_TIMEOUT_MS = 900

/** Long, because the server may have to load the model first. */
const DIALECT_PROBE_TIMEOUT_MS = 120_000

const MAX_PROBE_ANSWER_BYTES = 4 * 1024 * 1024

/** Opens the worker. Its list of models is fetched when the gateway is used, never by a timer. */
export function openWorker(settings: WorkerSettings, { clock, log, ...connect }: Needs): Worker {
  const { idleTimeoutMs, apiKey, maxTokens } = settings
  const server = {
    credential: apiKey && ({ as: 'bearer', secret: apiKey } as const),
    headers: null,
    ...openBackendPool(withoutVersion(settings.url), { ...connect, idleTimeoutMs }),
  }
  const native = openNativeDialects({
    sendProbe: makeSendProbe(server),
    onFound: (dialect, { isNative: native, isStateful: stateful }) =>
      log.info({ worker: WORKER_NAME, dialect, native, stateful }, 'worker.dialect_found'),
  })
  const models = openProbe({
    fetchResult: () => fetchModels(server),
    onResult({ kind }, before) {
      if (kind === before?.kind) return
      if (before) native.forget()
      log.info({ worker: WORKER_NAME, found: kind }, 'worker.changed')
    },
    clock,
  })
  return {
    name: WORKER_NAME,
    kind: 'engine',
    traits: BACKEND_KINDS.engine,
    ...server,
    // Its list of models says whether it can be reached.
    condition: openCondition({ canConnect: null, random, clock }),
    // Inference servers take it; vendors of the chat dialect refuse it.
    caps: { topK: true },
    maxTokens,
    dialects: toDialects(native),
    health: {
      lastKnown(model) {
        const found = models.lastKnown(MAX_AGE_MS)
        return found && judgeModel(found, model)
      },
      check: async (model) => judgeModel(await models.check(MAX_SHOWN_AGE_MS), model),
      recheck: () => models.recheck(),
    },
    checkModels: () => models.check(MAX_SHOWN_AGE_MS),
  }
}

function toDialects(native: NativeDialects): BackendDialects {
  return {
    certain: CERTAIN,
    known: () => [...CERTAIN, ...native.found()],
    speaks(dialect, { model, body }) {
      const support = native.supportOf(dialect, model)
      const { needsVendor, needsStoredState } = DIALECTS[dialect]
      if (!support?.isNative || needsVendor(body)) return false
      // An engine that ignores the reference to an earlier answer must not get the call. The translation refuses the
      // call and names the reference.
      return support.isStateful || !needsStoredState(body)
    },
    forget(dialect) {
      if (!CERTAIN.includes(dialect)) native.forget()
    },
  }
}

/** Every inference server supports chat completions. */
const CERTAIN: readonly Dialect[] = ['chat']

type Server = Pick<Backend, 'pool' | 'apiPath' | 'credential'>

async function fetchModels({ pool, apiPath, credential }: Server): Promise<ProbeResult> {
  const request: BackendRequest = {
    method: 'GET',
    path: `${apiPath}/models`,
    headers: toBackendHeaders(['accept', 'application/json'], credential),
    body: null,
  }
  const reply = await sendAndWait(pool, request, { timeoutMs: PROBE_TIMEOUT_MS, maxBytes: MAX_PROBE_ANSWER_BYTES })
  if (reply.kind === 'answered') return readModelList(reply.status, reply.body.toString('utf8'))
  return { kind: reply.kind === 'failed' ? 'unhealthy' : 'unavailable' }
}

function makeSendProbe({ pool, apiPath, credential }: Server): SendProbe {
  const limits = { timeoutMs: DIALECT_PROBE_TIMEOUT_MS, maxBytes: MAX_PROBE_ANSWER_BYTES }
  return async (path, body) => {
    const request: BackendRequest = {
      method: 'POST',
      path: apiPath + path,
      // The answer may be a stream (`closesAfterStream`).
      headers: [...toBackendHeaders(PROBE_HEADERS, credential), 'connection', 'close'],
      body: Buffer.from(JSON.stringify(body)),
    }
    const reply = await sendAndWait(pool, request, limits)
    return reply.kind === 'answered' ? { status: reply.status, body: reply.body.toString('utf8') } : null
  }
}

const PROBE_HEADERS = ['accept', 'application/json', 'anthropic-version', '2023-06-01']

/** Removes `/v1` from the end of the server's URL, because operators configure it with or without. */
function withoutVersion(url: URL): URL {
  const bare = new URL(url)
  bare.pathname = bare.pathname.replace(VERSION_AT_END, '/')
  return bare
}
