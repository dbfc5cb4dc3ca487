import type { SessionEvent } from './openapi.js';
import type { SvcClient } from './client.ts';
import type { StreamOptions } from './events.ts';
import type { Wait } from './wait.ts';
export type FollowedSession = {
    readonly sessionId: string;
    /** `@organization/name`. */
    readonly team: string;
    /** The account whose session it is. Default: the account of the client. */
    readonly account?: string | undefined;
    /** Only events behind the event with this id. */
    readonly after?: string | undefined;
};
export type FollowOptions = StreamOptions & {
    /** Waits between two connections. Default: a timer. */
    readonly wait?: Wait | undefined;
};
/**
 * Yields the events of an agent's session: first the stored ones, then each new one as it happens. When the connection
 * ends or breaks, it connects again and continues behind the last event, until the caller leaves the loop. Throws when
 * the first connection fails, an `SvcError` when the deployment refuses for good, and each error of the token store or
 * the `accessToken` function.
 */
export declare function followAgentSession(client: SvcClient, { sessionId, team, account, after: start }: FollowedSession, { signal, wait }?: FollowOptions): AsyncGenerator<SessionEvent>;
