import { streamError } from "./errors.js";
import { jsonOf } from "./json.js";
/** Yields the data of each server-sent event as text (WHATWG HTML, section 9.2). Throws when the connection breaks. */
export async function* eventData(stream, signal) {
    let data = [];
    for await (const line of lines(stream, signal)) {
        if (line.startsWith('data:'))
            data.push(line.slice(line[5] === ' ' ? 6 : 5));
        if (line !== '' || data.length === 0)
            continue;
        yield data.join('\n');
        data = [];
    }
}
/**
 * Yields the data of each server-sent event of a streamed call (`parseAs: 'stream'`), parsed as a JSON object. Ends at
 * `[DONE]` or at the end of the stream. Throws when the connection breaks, and a `StreamError` for data that is no
 * object. Unlike `streamChatCompletion`, `streamResponse` and `streamMessage`, it does not detect a stream that was cut
 * off.
 */
export async function* events(stream, { signal } = {}) {
    for await (const data of eventData(stream, signal)) {
        if (data === '[DONE]')
            return;
        // The caller names the type of the events: the contract has one for each dialect.
        yield parseEvent(data);
    }
}
/** Parses an event of a stream. Throws a `StreamError` when it is not a JSON object. `response`: where it came from. */
export function parseEvent(text, response) {
    const event = jsonOf(text);
    if (typeof event === 'object' && event !== null && !Array.isArray(event))
        return event;
    throw streamError(response, 'stream_failed', 'The stream has an event that is not a JSON object.', text);
}
/**
 * Yields the complete lines of a stream. Text after the last line break is dropped. An abort is handled here too,
 * because `fetch` of Node.js 20 and 22 loses the signal when garbage is collected.
 */
export async function* lines(stream, signal) {
    const reader = stream.getReader();
    const cancel = () => reader.cancel().catch(() => { });
    signal?.addEventListener('abort', cancel);
    const decoder = new TextDecoder();
    let rest = '';
    let heldBreak = '';
    try {
        signal?.throwIfAborted();
        for (let read = await reader.read(); !read.done; read = await reader.read()) {
            const text = heldBreak + decoder.decode(read.value, { stream: true });
            // A CR at the end of a chunk may be the first half of a CRLF, so it is kept for the next chunk.
            heldBreak = text.endsWith('\r') ? '\r' : '';
            const parts = text.slice(0, text.length - heldBreak.length).split(/\r\n|\n|\r/);
            const last = parts.pop() ?? '';
            for (const part of parts) {
                // What has arrived before an abort is not delivered after it.
                signal?.throwIfAborted();
                yield rest + part;
                rest = '';
            }
            // It is not searched again, so that a long line in many chunks takes linear time.
            rest += last;
        }
        signal?.throwIfAborted();
        if (heldBreak !== '')
            yield rest;
    }
    finally {
        signal?.removeEventListener('abort', cancel);
        await cancel();
    }
}
