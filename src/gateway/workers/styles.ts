import { isMessage, isResponseStream } from '../translate/native-stream.ts'
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
  const { path, body, impossible, isAnswer } = QUESTIONS[style]
  const heard = judgeSpeech(await ask(path, { model, ...body }), isAnswer)
  if (heard !== 'native') return heard && { native: false, stateful: false }
  const minds = judgeRefusal(await ask(path, { model, ...body, ...impossible }), isAnswer)
  if (minds === null) return null
  // The translation knows tool_choice; previous_response_id is for an engine alone, and only asked of one that minds.
  return style === 'messages' ? { native: minds, stateful: false } : { native: true, stateful: minds }
}

/** The least that the vendor allows. */
const FEW_TOKENS = 16

/** `impossible`: what no engine can do, so that one which answers all the same overlooks it, there and in every call. */
const QUESTIONS = {
  messages: {
    path: '/v1/messages',
    body: { max_tokens: 1, messages: [{ role: 'user', content: 'hi' }] },
    impossible: {
      tools: [{ name: 'one', description: 'A tool.', input_schema: { type: 'object', properties: {} } }],
      tool_choice: { type: 'tool', name: 'another' },
    },
    isAnswer(text: string): boolean {
      const body = parseObject(text)
      return body !== null && isMessage(body)
    },
  },
  // Asked for more than the limit allows, and as a stream, because that is where engines stray from the style.
  responses: {
    path: '/v1/responses',
    body: { max_output_tokens: FEW_TOKENS, input: 'Count from one to one hundred in words.', stream: true },
    impossible: { previous_response_id: 'resp_00000000000000000000000000000000' },
    isAnswer: (text: string) => isResponseStream(text, FEW_TOKENS),
  },
} as const

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
