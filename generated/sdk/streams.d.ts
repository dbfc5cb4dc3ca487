import type { ChatCompletionChunk, ChatCompletionRequest, MessageRequest, MessageStreamEvent, ResponseRequest, ResponseStreamEvent } from './openapi.js';
import type { SvcClient } from './client.ts';
import type { StreamOptions } from './events.ts';
/**
 * Calls a model in the chat completions dialect and yields the chunks of its answer. Throws a `StreamError` when the
 * stream is cut off.
 */
export declare function streamChatCompletion(client: SvcClient, body: ChatCompletionRequest, { signal }?: StreamOptions): AsyncGenerator<ChatCompletionChunk>;
export type ResponseStreamOptions = StreamOptions & {
    /** The route. Default: `/v1/responses`; the other one is vendor C's. */
    readonly path?: '/v1/responses' | '/codex/v1/responses' | undefined;
};
/**
 * Calls a model in the responses dialect and yields the events of its answer. Throws a `StreamError` when the stream is
 * cut off.
 */
export declare function streamResponse(client: SvcClient, body: ResponseRequest, { signal, path }?: ResponseStreamOptions): AsyncGenerator<ResponseStreamEvent>;
/**
 * Calls a model in the messages dialect and yields the events of its answer. Throws a `StreamError` when the stream is
 * cut off.
 */
export declare function streamMessage(client: SvcClient, body: MessageRequest, { signal }?: StreamOptions): AsyncGenerator<MessageStreamEvent>;
