import type { Dialect } from '../dialects/dialect.ts'
import { DIALECTS } from '../dialects/dialects.ts'
import type { Json } from '../dialects/json/read-json.ts'

/** The styles that an engine may speak itself, besides the chat style, which every engine speaks. */
export type NativeStyle = Exclude<Dialect, 'chat'>

/** `stateful`: it knows `previous_response_id`, or refuses one that it does not know. */
export type Speech = { readonly native: boolean; readonly stateful: boolean }

/** What a question got for an answer; null: none that says anything, so it is asked again. */
export type Heard = { readonly status: number; readonly body: string } | null

/** Asks an engine in a style: POSTs this body to this path. */
export type AskInStyle = (path: string, body: Json) => Promise<Heard>

export type StyleProber = {
  /** Whether the engine speaks a style itself; null: nobody knows yet, and it is being asked. */
  speaks(style: NativeStyle, backendModel: string): Speech | null
  /** The engine may be another now. */
  forget(): void
}

type Needs = {
  readonly ask: AskInStyle
  readonly onFound: (style: NativeStyle, speech: Speech) => void
}

/**
 * Finds out in the background which styles an engine speaks itself, once for each style and when the first call needs to know. Only the shape of an
 * answer to a real question (of a few tokens) counts, and whether the engine minds what it cannot do: some servers answer 200 to every path, each
 * has errors of its own, and llama.cpp reads over what it does not know.
 */
export function openStyleProber({ ask, onFound }: Needs): StyleProber {
  const known = new Map<NativeStyle, Speech>()
  const asking = new Set<NativeStyle>()
  let generation = 0

  async function find(style: NativeStyle, backendModel: string): Promise<void> {
    const asked = generation
    asking.add(style)
    const speech = await probeStyle(ask, style, backendModel)
    asking.delete(style)
    if (!speech || asked !== generation) return
    known.set(style, speech)
    onFound(style, speech)
  }

  return {
    speaks(style, backendModel) {
      const speech = known.get(style) ?? null
      if (!speech && !asking.has(style)) void find(style, backendModel)
      return speech
    },
    forget() {
      generation++
      known.clear()
    },
  }
}

async function probeStyle(ask: AskInStyle, style: NativeStyle, model: string): Promise<Speech | null> {
  const probe = DIALECTS[style].nativeProbe
  if (!probe) return { native: true, stateful: false }
  const { path, body, impossible, isAnswer, ignoring } = probe
  const heard = judgeSpeech(await ask(path, { model, ...body }), isAnswer)
  if (heard !== 'native') return heard && { native: false, stateful: false }
  const minds = judgeRefusal(await ask(path, { model, ...body, ...impossible }), isAnswer)
  if (minds === null) return null
  return ignoring === 'foreign' ? { native: minds, stateful: false } : { native: true, stateful: minds }
}

/** What an answer says of an engine; null: nothing, because the engine was busy, broken or away. */
export function judgeSpeech(heard: Heard, isAnswer: (body: string) => boolean): 'native' | 'mute' | null {
  if (!heard) return null
  if (isAnswer(heard.body)) return 'native'
  return heard.status >= 500 || BUSY.has(heard.status) ? null : 'mute'
}

/** Whether an engine that has just answered refuses what cannot be. Some fail (500) where they should refuse. */
function judgeRefusal(heard: Heard, isAnswer: (body: string) => boolean): boolean | null {
  const judged = judgeSpeech(heard, isAnswer)
  return judged === null ? heard?.status === 500 || null : judged === 'mute'
}

const BUSY: ReadonlySet<number> = new Set([408, 409, 425, 429])
