import type { Dialect, NewId, StreamTranslator } from './dialect.ts'
import type { Failure } from './failure.ts'
import type { Json } from './json/read-json.ts'
import { toChatFromMessages } from './messages/to-chat.ts'
import { messagesStream } from './messages/stream.ts'
import { toMessageFromChat } from './messages/whole.ts'
import type { Refusal } from './refusal.ts'
import { responsesStream } from './responses/stream.ts'
import { toChatFromResponses } from './responses/to-chat.ts'
import { toResponseFromChat } from './responses/whole.ts'

/** What a translation needs besides the call. Ids and the time are passed in, so that the same call gives the same answer. */
export type TranslationContext = {
  /** The service's model id, which the answer names. */
  readonly model: string
  /** The name by which the backend knows the model. */
  readonly backendModel: string
  readonly newId: NewId
  /** Seconds since 1970. */
  readonly createdAt: number
}

export type Translation = {
  /** The body for the backend. */
  readonly request: Json
  readonly answer: AnswerTranslation
}

export type AnswerTranslation = {
  /** A translator for one stream of the backend. */
  readonly stream: () => StreamTranslator
  /** The client's answer for a whole body of the backend, which is parsed JSON; `failed` when that holds no answer. */
  readonly whole: (body: unknown) => { readonly answer: Json } | { readonly failed: Failure }
}

type Translate = (body: Json, context: TranslationContext) => Translation | { readonly refused: Refusal }

const TRANSLATIONS: Readonly<Record<Dialect, Partial<Record<Dialect, Translate>>>> = {
  chat: {},
  messages: {
    chat(body, context) {
      const made = toChatFromMessages(body, { model: context.backendModel })
      if ('refused' in made) return made
      const options = { ...context, facts: made.facts }
      const whole = (completion: unknown) => toMessageFromChat(completion, options)
      return { request: made.request, answer: { stream: () => messagesStream(options), whole } }
    },
  },
  responses: {
    chat(body, context) {
      const made = toChatFromResponses(body, { model: context.backendModel })
      if ('refused' in made) return made
      const options = { ...context, facts: made.facts }
      const whole = (completion: unknown) => toResponseFromChat(completion, options)
      return { request: made.request, answer: { stream: () => responsesStream(options), whole } }
    },
  },
}

/** Whether calls in the dialect of a client can be translated for a backend that speaks another. */
export function canTranslate(client: Dialect, backend: Dialect): boolean {
  return TRANSLATIONS[client][backend] !== undefined
}

/** A call of a client in one dialect for a backend in another, or the refusal of what that backend cannot be asked. */
export function translateCall(
  client: Dialect,
  backend: Dialect,
  body: Json,
  context: TranslationContext,
): Translation | { readonly refused: Refusal } {
  const translate = TRANSLATIONS[client][backend]
  if (!translate) throw new Error(`Calls in ${client} cannot be translated to ${backend}.`)
  return translate(body, context)
}
