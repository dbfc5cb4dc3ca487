export type StreamOptions = {
    /** Cancels the call, and the iteration throws the signal's reason. Leaving the loop cancels the call too. */
    readonly signal?: AbortSignal | undefined;
};
/** Yields the data of each server-sent event as text (WHATWG HTML, section 9.2). Throws when the connection breaks. */
export declare function eventData(stream: ReadableStream<Uint8Array>, signal?: AbortSignal): AsyncGenerator<string>;
/**
 * Yields the data of each server-sent event of a streamed call (`parseAs: 'stream'`), parsed as a JSON object. Ends at
 * `[DONE]` or at the end of the stream. Throws when the connection breaks, and a `StreamError` for data that is no
 * object. Unlike `streamChatCompletion`, `streamResponse` and `streamMessage`, it does not detect a stream that was cut
 * off.
 */
export declare function events<Event = unknown>(stream: ReadableStream<Uint8Array>, { signal }?: StreamOptions): AsyncGenerator<Event>;
/** Parses an event of a stream. Throws a `StreamError` when it is not a JSON object. `response`: where it came from. */
export declare function parseEvent(text: string, response?: Response): object;
/**
 * Yields the complete lines of a stream. Text after the last line break is dropped. An abort is handled here too,
 * because `fetch` of Node.js 20 and 22 loses the signal when garbage is collected.
 */
export declare function lines(stream: ReadableStream<Uint8Array>, signal?: AbortSignal): AsyncGenerator<string>;
