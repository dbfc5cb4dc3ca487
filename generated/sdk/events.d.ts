/** The data of server-sent events (WHATWG HTML, section 9.2), one text an event. Throws when the connection breaks. */
export declare function eventData(stream: ReadableStream<Uint8Array>): AsyncGenerator<string>;
/**
 * The data of each server-sent event of a streamed call (`parseAs: 'stream'`), parsed. Ends at `[DONE]` or with the stream; throws when the
 * connection breaks. `streamChatCompletion` and its like also tell a stream that stopped short.
 */
export declare function events<Event = unknown>(stream: ReadableStream<Uint8Array>): AsyncGenerator<Event>;
