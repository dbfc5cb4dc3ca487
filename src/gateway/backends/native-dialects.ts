import type { Dialect, NativeProbe } from '../dialects/dialect.ts'
import { DIALECTS } from '../dialects/dialects.ts'
import type { Json } from '../dialects/json/read-json.ts'

/** `isStateful`: it knows `previous_response_id`, or refuses one that it does not know. */
export type DialectSupport = { readonly isNative: boolean; readonly isStateful: boolean }

/** An engine's answer to a probe; null: none. */
export type ProbeAnswer = { readonly status: number; readonly body: string } | null

/** POSTs this body to this path of the engine. */
export type SendProbe = (path: string, body: Json) => Promise<ProbeAnswer>

export type NativeDialects = {
  /** How the engine speaks a dialect itself; null: not known yet, and it is being probed. */
  supportOf(dialect: Dialect, model: string): DialectSupport | null
  /** The engine may have been replaced: everything is probed again. */
  forget(): void
}

type Needs = {
  readonly sendProbe: SendProbe
  readonly onFound: (dialect: Dialect, support: DialectSupport) => void
}

/**
 * Finds out in the background which dialects an engine speaks itself, once for each dialect and when the first call
 * needs to know. A probe is a real request for a few tokens. Only the shape of its answer counts, and whether the
 * engine rejects an impossible request: some servers answer 200 on every path, error bodies differ, and llama.cpp
 * ignores members that it does not know.
 */
export function openNativeDialects({ sendProbe, onFound }: Needs): NativeDialects {
  const known = new Map<Dialect, DialectSupport>()
  const probing = new Set<Dialect>()
  let generation = 0

  async function find(dialect: Dialect, probe: NativeProbe, model: string): Promise<void> {
    const startedIn = generation
    probing.add(dialect)
    const support = await probeDialect(sendProbe, probe, model)
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
    forget() {
      generation++
      known.clear()
    },
  }
}

/** A dialect without a probe is one that every engine speaks. */
const ALWAYS_SPOKEN: DialectSupport = { isNative: true, isStateful: true }

async function probeDialect(send: SendProbe, probe: NativeProbe, model: string): Promise<DialectSupport | null> {
  const { path, body, impossible, isAnswer, ignoring } = probe
  const judged = judgeProbe(await send(path, { model, ...body }), isAnswer)
  if (judged !== 'native') return judged && { isNative: false, isStateful: false }
  const rejects = judgeRejection(await send(path, { model, ...body, ...impossible }), isAnswer)
  if (rejects === null) return null
  return ignoring === 'foreign' ? { isNative: rejects, isStateful: false } : { isNative: true, isStateful: rejects }
}

/** What the answer to a probe says about the engine; null: nothing, because it was busy, broken or unreachable. */
export function judgeProbe(answer: ProbeAnswer, isAnswer: (body: string) => boolean): 'native' | 'foreign' | null {
  if (!answer) return null
  if (isAnswer(answer.body)) return 'native'
  return answer.status >= 500 || BUSY.has(answer.status) ? null : 'foreign'
}

/** Whether the engine rejects an impossible request. Some engines fail with 500 where they should reject. */
function judgeRejection(answer: ProbeAnswer, isAnswer: (body: string) => boolean): boolean | null {
  const judged = judgeProbe(answer, isAnswer)
  return judged === null ? answer?.status === 500 || null : judged === 'foreign'
}

const BUSY: ReadonlySet<number> = new Set([408, 409, 425, 429])
