import type { PassOptions, StreamTranslator } from '../dialect.ts'
import { passTypedEvents } from '../passing/pass-stream.ts'
import { renameInside } from '../passing/rename-model.ts'
import { messagesFailure } from './write-answer.ts'

/** Passes a messages stream of an engine with the service's model id. Nothing else changes. */
export function passMessagesStream({ model }: PassOptions): StreamTranslator {
  return passTypedEvents({
    stateAfter: (type) => (type === 'message_stop' ? 'ended' : type === 'error' ? 'failed' : 'open'),
    show: (event) => [renameInside(event, 'message', model)],
    fail: (failure) => [messagesFailure(failure)],
  })
}
