import type { ErrorCode } from './contract-types.ts';
/** What an error carries besides its message. */
export type SvcErrorFields = {
    /** The contract's code; another text where an upstream or a proxy answered in its own words. */
    readonly code: ErrorCode | (string & {});
    /** The HTTP status; 0 where there is none, as inside a stream. */
    readonly status: number;
    /** Names the request in the service's log; give it when you ask for help. */
    readonly requestId: string | null;
    /** How long to wait before the same request can work; null when the answer does not say. */
    readonly retryAfterSeconds: number | null;
    /** The body of the answer, parsed where it was JSON. */
    readonly body: unknown;
};
/** An answer that is not the wanted one. Decide by `code`; the message is for people. */
export declare class SvcError extends Error implements SvcErrorFields {
    readonly name: string;
    readonly code: SvcErrorFields['code'];
    readonly status: number;
    readonly requestId: string | null;
    readonly retryAfterSeconds: number | null;
    readonly body: unknown;
    constructor(message: string, { code, status, requestId, retryAfterSeconds, body }: SvcErrorFields);
}
/** 401: nobody is signed in, or no longer. Log in again. */
export declare class NotSignedInError extends SvcError {
    readonly name = "NotSignedInError";
}
/** 403: the person, the team or the page that asks may not do this. */
export declare class NotAllowedError extends SvcError {
    readonly name = "NotAllowedError";
}
/** 410: it was valid, and its time is over. */
export declare class ExpiredError extends SvcError {
    readonly name = "ExpiredError";
}
/** 429: too many requests; `retryAfterSeconds` says how long to wait. */
export declare class RateLimitedError extends SvcError {
    readonly name = "RateLimitedError";
}
/** 500 and above: the service or an upstream cannot do it now. */
export declare class UnavailableError extends SvcError {
    readonly name = "UnavailableError";
}
/** A stream that began and did not end well: it carried an error, or it broke off. */
export declare class StreamError extends SvcError {
    readonly name = "StreamError";
}
/** The error of an answer whose body has been read. */
export declare function errorOf(response: Response, body: unknown): SvcError;
/** The id under which the service's log knows an answer. */
export declare function requestIdOf(response: Response): string | null;
/** `Retry-After` in seconds (RFC 9110, section 10.2.3); null without one or when it is a date. */
export declare function retryAfterOf(response: Response): number | null;
/** Code and message as far as there are any: vendors name the code `type`. */
export declare function envelopeOf(body: unknown): {
    readonly code?: string;
    readonly message?: string;
};
