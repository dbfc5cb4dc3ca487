import type { Session } from './session.ts';
import type { Wait } from './wait.ts';
/** What sends a request: `fetch`, or something around it. */
export type Send = (request: Request) => Promise<Response>;
type RetryOptions = {
    /** How often a request may be sent again. */
    readonly retries: number;
    /** An answer that asks for a longer wait is handed on instead. */
    readonly longestWaitSeconds: number;
    readonly wait?: Wait;
};
/**
 * Sends again what was refused for the moment: 429 and 503 that say how long to wait (`Retry-After`), unless the answer says that
 * waiting is no cure (`x-should-retry: false`). Nothing else: a call that broke off may have been made.
 */
export declare function retrying(send: Send, { retries, longestWaitSeconds, wait }: RetryOptions): Send;
/** Adds the access token of a session, and refreshes it once when it is refused. */
export declare function signed(send: Send, session: Session): Send;
/** Adds a token that somebody else looks after. */
export declare function withToken(send: Send, accessToken: string | (() => string | Promise<string>)): Send;
export {};
