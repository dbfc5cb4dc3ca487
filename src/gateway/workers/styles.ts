import { isMessage, isResponse } from '../translate/native-stream.ts'
import type { Json } from '../translate/read.ts'
import { parseObject } from '../translate/read.ts'

/** The styles that an engine may speak itself, besides the chat style, which every engine speaks. */
export type NativeStyle = 'messages' | 'responses'

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
 * answer to a real question (of one token) counts: some servers answer 200 to every path, and each has errors of its own.
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
  const { path, body, isAnswer } = QUESTIONS[style]
  const heard = judgeSpeech(await ask(path, { model, ...body }), isAnswer)
  if (!heard || style === 'messages') return heard === null ? null : { native: heard === 'native', stateful: false }
  if (heard === 'mute') return { native: false, stateful: false }
  const again = judgeSpeech(await ask(path, { model, ...body, previous_response_id: UNKNOWN_RESPONSE }), isAnswer)
  // An engine that answers as if there were such a response forgets conversations silently.
  return again && { native: true, stateful: again === 'mute' }
}

const UNKNOWN_RESPONSE = 'resp_00000000000000000000000000000000'

const QUESTIONS = {
  messages: {
    path: '/v1/messages',
    body: { max_tokens: 1, messages: [{ role: 'user', content: 'hi' }] },
    isAnswer: isMessage,
  },
  responses: { path: '/v1/responses', body: { max_output_tokens: 16, input: 'hi' }, isAnswer: isResponse },
} as const

/** What an answer says of an engine; null: nothing, because the engine was busy, broken or away. */
export function judgeSpeech(heard: Heard, isAnswer: (body: Json) => boolean): 'native' | 'mute' | null {
  if (!heard) return null
  const body = parseObject(heard.body)
  if (body && isAnswer(body)) return 'native'
  return heard.status >= 500 || BUSY.has(heard.status) ? null : 'mute'
}

const BUSY: ReadonlySet<number> = new Set([408, 409, 425, 429])
