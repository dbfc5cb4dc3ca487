import { envelopeOf, errorOf, streamError } from "./errors.js";
import { eventData, parseEvent } from "./events.js";
/**
 * Calls a model in the chat completions dialect and yields the chunks of its answer. Throws a `StreamError` when the
 * stream is cut off.
 */
export function streamChatCompletion(client, body, { signal } = {}) {
    const init = { body: { ...body, stream: true }, parseAs: 'stream', signal: signal ?? null };
    return typedEvents(() => client.POST('/v1/chat/completions', init), () => false, signal);
}
/**
 * Calls a model in the responses dialect and yields the events of its answer. Throws a `StreamError` when the stream is
 * cut off.
 */
export function streamResponse(client, body, { signal, path = '/v1/responses' } = {}) {
    const init = { body: { ...body, stream: true }, parseAs: 'stream', signal: signal ?? null };
    return typedEvents(() => client.POST(path, init), ({ type }) => ['response.completed', 'response.incomplete', 'response.failed'].includes(type), signal);
}
/**
 * Calls a model in the messages dialect and yields the events of its answer. Throws a `StreamError` when the stream is
 * cut off.
 */
export function streamMessage(client, body, { signal } = {}) {
    const init = { body: { ...body, stream: true }, parseAs: 'stream', signal: signal ?? null };
    return typedEvents(() => client.POST('/vendorb/v1/messages', init), ({ type }) => type === 'message_stop', signal);
}
/** Yields the events of a call until `[DONE]` or the last event. */
async function* typedEvents(open, isLast, signal) {
    const { data, error, response } = await open();
    if (!response.ok)
        throw errorOf(response, error);
    // With `parseAs: 'stream'` the data is the body of the answer, which can be missing behind a proxy.
    const body = data;
    for await (const text of body ? dataUntilBreak(body, signal) : []) {
        if (text === '[DONE]')
            return;
        const event = parseEvent(text, response);
        if (isFailure(event))
            throw failureOf(response, event);
        yield event;
        if (isLast(event))
            return;
    }
    throw streamError(response, 'stream_cut', 'The stream was cut off before its end.', null);
}
/** Yields the data of the events. A broken connection ends it, like one that is closed; an abort throws its reason. */
async function* dataUntilBreak(body, signal) {
    try {
        yield* eventData(body, signal);
    }
    catch {
        signal?.throwIfAborted();
    }
}
/** Whether an event reports an error: `{"error": ...}`, in some dialects with `"type": "error"`. */
function isFailure(event) {
    return ('type' in event && event.type === 'error') || ('error' in event && Boolean(event.error));
}
function failureOf(response, event) {
    const { code, message } = envelopeOf('error' in event ? event : { error: event });
    return streamError(response, code ?? 'stream_failed', message ?? 'The stream ended with an error.', event);
}
