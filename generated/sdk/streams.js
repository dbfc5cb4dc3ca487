import { envelopeOf, errorOf, requestIdOf, StreamError } from "./errors.js";
import { eventData } from "./events.js";
/** Calls a model in the chat completions style and yields its chunks. Throws a `StreamError` when the stream stops before its end. */
export function streamChatCompletion(client, body, { signal } = {}) {
    const init = { body: { ...body, stream: true }, parseAs: 'stream', signal: signal ?? null };
    return typedEvents(() => client.POST('/v1/chat/completions', init), () => false);
}
/** Calls a model in the responses style and yields its events, the last one included. Throws a `StreamError` when there is none. */
export function streamResponse(client, body, { signal, path = '/v1/responses' } = {}) {
    const init = { body: { ...body, stream: true }, parseAs: 'stream', signal: signal ?? null };
    return typedEvents(() => client.POST(path, init), ({ type }) => ['response.completed', 'response.incomplete', 'response.failed'].includes(type));
}
/** Calls a model in the messages style and yields its events, `message_stop` included. Throws a `StreamError` when that does not come. */
export function streamMessage(client, body, { signal } = {}) {
    const init = { body: { ...body, stream: true }, parseAs: 'stream', signal: signal ?? null };
    return typedEvents(() => client.POST('/vendorb/v1/messages', init), ({ type }) => type === 'message_stop');
}
/** The events of a call, until `[DONE]` or until one is the last. */
async function* typedEvents(open, isLast) {
    const { data, error, response } = await open();
    if (!response.ok)
        throw errorOf(response, error);
    // `parseAs: 'stream'` leaves the body of the answer.
    for await (const text of eventData(data)) {
        if (text === '[DONE]')
            return;
        const event = JSON.parse(text);
        if (isFailure(event))
            throw failureOf(response, event);
        yield event;
        if (isLast(event))
            return;
    }
    throw new StreamError('The stream broke off before its end.', {
        ...fieldsOf(response),
        code: 'stream_cut',
        body: null,
    });
}
/** A stream says what went wrong in an event of its own: `{"error": ...}`, in some styles with `"type": "error"`. */
function isFailure(event) {
    return ('type' in event && event.type === 'error') || ('error' in event && Boolean(event.error));
}
function failureOf(response, event) {
    const { code, message } = envelopeOf('error' in event ? event : { error: event });
    return new StreamError(message ?? 'The stream ended with an error.', {
        ...fieldsOf(response),
        code: code ?? 'stream_failed',
        body: event,
    });
}
function fieldsOf(response) {
    return { status: 0, requestId: requestIdOf(response), retryAfterSeconds: null };
}
