import type { Client, ClientOptions } from 'openapi-fetch';
import type { paths } from '#openapi';
export type * from '#openapi';
/** A client whose paths, parameters, bodies and answers are those of the contract. */
export type SvcClient = Client<paths, 'application/json'>;
export type SvcClientOptions = Omit<ClientOptions, 'baseUrl'> & {
    /** The address of the deployment. */
    readonly baseUrl: string;
    /** The access token, or a function that gives a fresh one for each request. Without it, only public operations work. */
    readonly accessToken?: string | (() => string | Promise<string>);
};
/** A typed client of a deployment. Answers are `{ data }` or `{ error }` with the contract's bodies. */
export declare function createClient({ accessToken, ...options }: SvcClientOptions): SvcClient;
/**
 * The data of each server-sent event of a streamed call (`parseAs: 'stream'`), parsed. Ends at `[DONE]` or with the stream; throws when the
 * connection breaks.
 */
export declare function events<Event = unknown>(stream: ReadableStream<Uint8Array>): AsyncGenerator<Event>;
