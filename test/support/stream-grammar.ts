export { checkChatStream } from './stream-grammar/chat.ts'
export { checkMessagesStream } from './stream-grammar/messages.ts'
export { checkResponsesStream } from './stream-grammar/responses.ts'
