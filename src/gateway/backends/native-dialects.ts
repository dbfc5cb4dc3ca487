import type { Dialect, NativeProbe } from '../dialects/dialect.ts'
import { DIALECTS } from '../dialects/dialects.ts'
import { isModelMissing } from '../dialects/failures/missing-model.ts'
import type { Json } from '../dialects/json/read-json.ts'

/**
 * Whether an engine supports a dialect. `isStateful`: it uses `previous_response_id`, or refuses an id that it does not
 * know.
 */
export type DialectSupport = { readonly isNative: boolean; readonly isStateful: boolean }

/** An engine's answer to a probe; null when there was none. */
export type ProbeAnswer = { readonly status: number; readonly body: string } | null

/** POSTs this body to this path of the engine. */
export type SendProbe = (path: string, body: Json) => Promise<ProbeAnswer>

export type NativeDialects = {
  /** How the engine supports a dialect. Null: not known yet; a probe runs in the background. */
  supportOf(dialect: Dialect, model: string): DialectSupport | null
  /** The dialects that a probe has found the engine to support. */
  found(): readonly Dialect[]
  /** Drops all results, so that each dialect is probed again. Call it when the engine may have been replaced. */
  forget(): void
}

type Needs = {
  readonly sendProbe: SendProbe
  readonly onFound: (dialect: Dialect, support: DialectSupport) => void
}

/**
 * Finds out which dialects an engine supports. Each dialect is probed once, in the background, when the first call
 * needs the result. A probe is a real request for a few tokens. Two facts decide: the shape of the answer, and whether
 * the engine rejects an impossible request. The status alone does not decide, because some servers answer 200 on every
 * path, error bodies differ, and llama.cpp ignores members that it does not know.
 */
export function openNativeDialects({ sendProbe, onFound }: Needs): NativeDialects {
  const known = new Map<Dialect, DialectSupport>()
  const probing = new Set<Dialect>()
  let generation = 0

  async function find(dialect: Dialect, probe: NativeProbe, model: string): Promise<void> {
    const startedIn = generation
    probing.add(dialect)
    const send = async (body: Json): Promise<ProbeAnswer> => {
      const answer = await sendProbe(DIALECTS[dialect].path, { model, ...body })
      // Another model may show the support for the dialect.
      return answer && isModelMissing(answer.status, answer.body, model) ? null : answer
    }
    const support = await probeDialect(send, probe)
    probing.delete(dialect)
    if (!support || startedIn !== generation) return
    known.set(dialect, support)
    onFound(dialect, support)
  }

  return {
    supportOf(dialect, model) {
      const probe = DIALECTS[dialect].nativeProbe
      if (!probe) return ALWAYS_SPOKEN
      const support = known.get(dialect) ?? null
      if (!support && !probing.has(dialect)) void find(dialect, probe, model)
      return support
    },
    found: () => [...known].flatMap(([dialect, { isNative }]) => (isNative ? [dialect] : [])),
    forget() {
      generation++
      known.clear()
    },
  }
}

/** The support for a dialect without a probe: every engine has it. */
const ALWAYS_SPOKEN: DialectSupport = { isNative: true, isStateful: true }

async function probeDialect(
  send: (body: Json) => Promise<ProbeAnswer>,
  { body, impossible, isAnswer, ifIgnored }: NativeProbe,
): Promise<DialectSupport | null> {
  const judged = judgeProbe(await send(body), isAnswer)
  if (judged !== 'native') return judged && { isNative: false, isStateful: false }
  const rejects = judgeRejection(await send({ ...body, ...impossible }), isAnswer)
  if (rejects === null) return null
  return ifIgnored === 'foreign' ? { isNative: rejects, isStateful: false } : { isNative: true, isStateful: rejects }
}

/**
 * Judges the answer to a probe: `native` when it has the shape of the dialect, else `foreign`. Null when nothing can be
 * concluded, because the engine was busy, failed or could not be reached.
 */
export function judgeProbe(answer: ProbeAnswer, isAnswer: (body: string) => boolean): 'native' | 'foreign' | null {
  if (!answer) return null
  if (isAnswer(answer.body)) return 'native'
  return answer.status >= 500 || BUSY.has(answer.status) ? null : 'foreign'
}

/** Whether the engine rejects an impossible request. A 500 counts as a rejection, because some engines answer so. */
function judgeRejection(answer: ProbeAnswer, isAnswer: (body: string) => boolean): boolean | null {
  const judged = judgeProbe(answer, isAnswer)
  return judged === null ? answer?.status === 500 || null : judged === 'foreign'
}

const BUSY: ReadonlySet<number> = new Set([408, 409, 425, 429])
