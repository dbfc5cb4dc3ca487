import type { ErrorCode } from './contract-types.ts';
/** The fields of an `SvcError` besides its message. */
export type SvcErrorFields = {
    /** The error code of the contract. It can be another text when an upstream or a proxy wrote the answer. */
    readonly code: ErrorCode | (string & {});
    /** The HTTP status. 0 for an error inside a stream. */
    readonly status: number;
    /** The id of the request in the service's log. Quote it when you report a problem. */
    readonly requestId: string | null;
    /** How long to wait before the same request can succeed. Null when the answer does not say. */
    readonly retryAfterSeconds: number | null;
    /** The body of the answer, parsed when it was JSON. */
    readonly body: unknown;
};
/** An error answer. Decide by `code`; the message is for people. */
export declare class SvcError extends Error implements SvcErrorFields {
    readonly name: string;
    readonly code: SvcErrorFields['code'];
    readonly status: number;
    readonly requestId: string | null;
    readonly retryAfterSeconds: number | null;
    readonly body: unknown;
    constructor(message: string, { code, status, requestId, retryAfterSeconds, body }: SvcErrorFields);
}
/** 401: the device is not signed in, or not any more. Log in again. */
export declare class NotSignedInError extends SvcError {
    readonly name = "NotSignedInError";
}
/** 403: the account, the team or the calling site is not allowed to do this. */
export declare class NotAllowedError extends SvcError {
    readonly name = "NotAllowedError";
}
/** 410: the login or the token was valid and has expired. */
export declare class ExpiredError extends SvcError {
    readonly name = "ExpiredError";
}
/** 429: too many requests. `retryAfterSeconds` says how long to wait. */
export declare class RateLimitedError extends SvcError {
    readonly name = "RateLimitedError";
}
/** 500 and above: the service or an upstream cannot serve the request now. */
export declare class UnavailableError extends SvcError {
    readonly name = "UnavailableError";
}
/** A stream that started and then failed: it carried an error, or it was cut off. */
export declare class StreamError extends SvcError {
    readonly name = "StreamError";
}
/** Converts an error answer, whose body has been read, to an `SvcError`. */
export declare function errorOf(response: Response, body: unknown): SvcError;
/** The error for an answer of success that the service did not write, such as the sign-in page of a network. */
export declare function unexpectedAnswer(response: Response, what: string, body: unknown): SvcError;
/** The error for a stream that has begun and then failed. */
export declare function streamError(response: Response | undefined, code: string, message: string, body: unknown): StreamError;
/** `Retry-After` in seconds (RFC 9110, section 10.2.3). Null when it is missing or a date. */
export declare function retryAfterOf(response: Response): number | null;
/**
 * Reads the code and the message of an error body. Some vendors have a `type` and no `code`, or a text in place of the
 * object.
 */
export declare function envelopeOf(body: unknown): {
    readonly code?: string;
    readonly message?: string;
};
