import type { Send } from './send.ts';
import type { Session } from './session.ts';
import type { Wait } from './wait.ts';
type RetryOptions = {
    /** How often a request is sent again at most. */
    readonly retries: number;
    /** An answer that asks for a longer wait is returned to the caller. */
    readonly longestWaitSeconds: number;
    readonly wait?: Wait;
};
/**
 * Sends a request again after 429 and 503 with `Retry-After`, unless the answer has `x-should-retry: false`. Nothing
 * else is sent again: a request whose connection broke may have been carried out.
 */
export declare function withRetries(send: Send, { retries, longestWaitSeconds, wait }: RetryOptions): Send;
/** Adds the access token of a session. When the token is rejected, refreshes it and sends the request once more. */
export declare function withSession(send: Send, session: Session): Send;
/** Adds an access token that the caller provides. */
export declare function withToken(send: Send, accessToken: string | (() => string | Promise<string>)): Send;
export {};
