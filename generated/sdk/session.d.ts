import type { Send } from './send.ts';
import type { RefreshedTokens } from './openapi.js';
/** The tokens of a signed-in device in a store. */
export type StoredTokens = RefreshedTokens;
/** The tokens that a JSON value contains; null when it is something else. */
export declare function toStoredTokens(value: unknown): StoredTokens | null;
/** Stores the tokens of one device. */
export type TokenStore = {
    /** Returns the tokens. Null: the device is not signed in. */
    load(): Promise<StoredTokens | null>;
    /** Replaces the tokens. Null removes them. */
    save(tokens: StoredTokens | null): Promise<void>;
    /** Runs a task while no other task on the same tokens runs, in this process or in another. */
    exclusively<T>(task: () => Promise<T>): Promise<T>;
};
/** Stores the tokens in memory, until the program ends. */
export declare function memoryTokenStore(tokens?: StoredTokens | null): TokenStore;
export type SessionOptions = {
    /** The base URL of the deployment. */
    readonly baseUrl: string;
    readonly tokens: TokenStore;
    readonly fetch?: Send | undefined;
};
export type Session = {
    /** Returns the stored access token, which may have expired. Null: the device is not signed in. */
    accessToken(): Promise<string | null>;
    /**
     * Returns an access token other than the rejected one: the stored one when another caller has refreshed it meanwhile,
     * else a new one, which is stored. When the device is signed out, removes the tokens and returns null. Throws when
     * the service cannot be reached; the tokens stay.
     */
    renew(rejected: string): Promise<string | null>;
};
/**
 * Opens the session of a signed-in device. When many requests find their token rejected at the same time, also in
 * several processes that share the store, there is one refresh: refreshes run one at a time, and later callers find a
 * token other than the rejected one.
 */
export declare function openSession({ baseUrl, tokens, fetch: send }: SessionOptions): Session;
