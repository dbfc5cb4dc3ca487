import { servedModel } from './served-models.ts'
import { checkChatStream, checkMessagesStream, checkResponsesStream } from './stream-grammar.ts'

/** A team with a model of the local worker, and one that the worker and an upstream have. */
export const TEAM = {
  defaultModel: 'svc/fast',
  models: [
    servedModel('svc/fast', { backendModel: 'qwen3:8b' }),
    servedModel('svc/both', { backendModel: 'qwen3:8b', upstreamModel: 'large-2026' }),
  ],
}

export const CHAT_PATH = '/v1/chat/completions'

/** The operations that the local worker serves in every case, with a small request for each. */
export const OPERATIONS = [
  { dialect: 'chat', path: CHAT_PATH, body: { messages: [{ role: 'user', content: 'hi' }] }, check: checkChatStream },
  {
    dialect: 'messages',
    path: '/vendorb/v1/messages',
    body: { max_tokens: 99, messages: [{ role: 'user', content: 'hi' }] },
    check: checkMessagesStream,
  },
  { dialect: 'responses', path: '/v1/responses', body: { input: 'hi' }, check: checkResponsesStream },
  { dialect: 'responses', path: '/codex/v1/responses', body: { input: 'hi' }, check: checkResponsesStream },
] as const

export const TRANSLATED_OPERATIONS = OPERATIONS.filter(({ dialect }) => dialect !== 'chat')

export function isChatCall({ url }: { url: string }): boolean {
  return url.endsWith(CHAT_PATH)
}
