import type { ChatCompletionChunk, ChatCompletionRequest, MessageRequest, MessageStreamEvent, ResponseRequest, ResponseStreamEvent } from './openapi.js';
import type { SvcClient } from './client.ts';
export type StreamOptions = {
    /** Hangs up; the iteration then throws the signal's reason. Leaving the loop hangs up as well. */
    readonly signal?: AbortSignal | undefined;
};
/** Calls a model in the chat completions style and yields its chunks. Throws a `StreamError` when the stream stops before its end. */
export declare function streamChatCompletion(client: SvcClient, body: ChatCompletionRequest, { signal }?: StreamOptions): AsyncGenerator<ChatCompletionChunk>;
export type ResponseStreamOptions = StreamOptions & {
    /** The route of vendor C unless it is left out. */
    readonly path?: '/v1/responses' | '/codex/v1/responses' | undefined;
};
/** Calls a model in the responses style and yields its events, the last one included. Throws a `StreamError` when there is none. */
export declare function streamResponse(client: SvcClient, body: ResponseRequest, { signal, path }?: ResponseStreamOptions): AsyncGenerator<ResponseStreamEvent>;
/** Calls a model in the messages style and yields its events, `message_stop` included. Throws a `StreamError` when that does not come. */
export declare function streamMessage(client: SvcClient, body: MessageRequest, { signal }?: StreamOptions): AsyncGenerator<MessageStreamEvent>;
