import type { Send } from './fetch.ts';
import type { RefreshedTokens } from './openapi.js';
/** The tokens of a signed-in device, as a store keeps them. */
export type StoredTokens = RefreshedTokens;
/** Where the tokens of one device are kept. */
export type TokenStore = {
    /** The tokens; null: nobody is signed in. */
    load(): Promise<StoredTokens | null>;
    /** Replaces the tokens as a whole; null forgets them. */
    save(tokens: StoredTokens | null): Promise<void>;
    /** Runs a task while no other task runs on the same tokens, in this process or another. */
    exclusively<T>(task: () => Promise<T>): Promise<T>;
};
/** Keeps the tokens while the program runs. */
export declare function memoryTokenStore(tokens?: StoredTokens | null): TokenStore;
export type SessionOptions = {
    /** The address of the deployment. */
    readonly baseUrl: string;
    readonly tokens: TokenStore;
    readonly fetch?: Send | undefined;
};
export type Session = {
    /** The access token as it is kept; null: nobody is signed in. */
    accessToken(): Promise<string | null>;
    /**
     * An access token other than the refused one: what somebody else has got meanwhile, or else the next pair, which is stored. Null when the
     * device is signed out, and then the tokens are forgotten. Throws when the service cannot be asked; the tokens stay.
     */
    renew(refused: string): Promise<string | null>;
};
/**
 * The session of a signed-in device. However many requests find their token refused at once, in however many processes that share the
 * store, there is one refresh: it runs alone, and who comes later finds another token than the one that was refused.
 */
export declare function openSession({ baseUrl, tokens, fetch: send }: SessionOptions): Session;
