/** Yields the data of each server-sent event as text (WHATWG HTML, section 9.2). Throws when the connection breaks. */
export async function* eventData(stream) {
    let data = [];
    for await (const line of lines(stream)) {
        if (line.startsWith('data:'))
            data.push(line.slice(line[5] === ' ' ? 6 : 5));
        if (line !== '' || data.length === 0)
            continue;
        yield data.join('\n');
        data = [];
    }
}
/**
 * Yields the data of each server-sent event of a streamed call (`parseAs: 'stream'`), parsed as JSON. Ends at `[DONE]`
 * or at the end of the stream. Throws when the connection breaks. Unlike `streamChatCompletion`, `streamResponse` and
 * `streamMessage`, it does not detect a stream that was cut off.
 */
export async function* events(stream) {
    for await (const data of eventData(stream)) {
        if (data === '[DONE]')
            return;
        // The caller names the type of the events: the contract has one for each dialect.
        yield JSON.parse(data);
    }
}
/** Yields the complete lines of a stream. Text after the last line break is dropped. */
export async function* lines(stream) {
    const reader = stream.getReader();
    const decoder = new TextDecoder();
    let rest = '';
    let heldBreak = '';
    try {
        for (let read = await reader.read(); !read.done; read = await reader.read()) {
            const text = heldBreak + decoder.decode(read.value, { stream: true });
            // A CR at the end of a chunk may be the first half of a CRLF, so it is kept for the next chunk.
            heldBreak = text.endsWith('\r') ? '\r' : '';
            const parts = text.slice(0, text.length - heldBreak.length).split(/\r\n|\n|\r/);
            const last = parts.pop() ?? '';
            for (const part of parts) {
                yield rest + part;
                rest = '';
            }
            // It is not searched again, so that a long line in many chunks takes linear time.
            rest += last;
        }
        if (heldBreak !== '')
            yield rest;
    }
    finally {
        await reader.cancel().catch(() => { });
    }
}
