/** An error answer. Decide by `code`; the message is for people. */
export class SvcError extends Error {
    name = 'SvcError';
    code;
    status;
    requestId;
    retryAfterSeconds;
    body;
    constructor(message, { code, status, requestId, retryAfterSeconds, body }) {
        super(message);
        this.code = code;
        this.status = status;
        this.requestId = requestId;
        this.retryAfterSeconds = retryAfterSeconds;
        this.body = body;
    }
}
/** 401: the device is not signed in, or not any more. Log in again. */
export class NotSignedInError extends SvcError {
    name = 'NotSignedInError';
}
/** 403: the account, the team or the calling site is not allowed to do this. */
export class NotAllowedError extends SvcError {
    name = 'NotAllowedError';
}
/** 410: the login or the token was valid and has expired. */
export class ExpiredError extends SvcError {
    name = 'ExpiredError';
}
/** 429: too many requests. `retryAfterSeconds` says how long to wait. */
export class RateLimitedError extends SvcError {
    name = 'RateLimitedError';
}
/** 500 and above: the service or an upstream cannot serve the request now. */
export class UnavailableError extends SvcError {
    name = 'UnavailableError';
}
/** A stream that started and then failed: it carried an error, or it was cut off. */
export class StreamError extends SvcError {
    name = 'StreamError';
}
/** Converts an error answer, whose body has been read, to an `SvcError`. */
export function errorOf(response, body) {
    const { code, message } = envelopeOf(body);
    const Kind = kindOf(response.status);
    return new Kind(message ?? `The service answered ${response.status}.`, {
        code: code ?? `http_${response.status}`,
        status: response.status,
        requestId: requestIdOf(response),
        retryAfterSeconds: retryAfterOf(response),
        body,
    });
}
/** The error for an answer of success that the service did not write, such as the sign-in page of a network. */
export function unexpectedAnswer(response, what, body) {
    return new SvcError(`${what} Check the URL of the service and your proxy.`, {
        code: 'unexpected_answer',
        status: response.status,
        requestId: requestIdOf(response),
        retryAfterSeconds: null,
        body,
    });
}
/** The error for a stream that has begun and then failed. */
export function streamError(response, code, message, body) {
    const requestId = response ? requestIdOf(response) : null;
    return new StreamError(message, { code, status: 0, requestId, retryAfterSeconds: null, body });
}
/** The id of an answer's request in the service's log. `x-request-id` can be that of a vendor. */
function requestIdOf({ headers }) {
    return headers.get('x-svc-request-id') ?? headers.get('x-request-id');
}
/** `Retry-After` in seconds (RFC 9110, section 10.2.3). Null when it is missing or a date. */
export function retryAfterOf(response) {
    const seconds = response.headers.get('retry-after');
    return seconds !== null && /^\d+$/.test(seconds) ? Number(seconds) : null;
}
/**
 * Reads the code and the message of an error body. Some vendors have a `type` and no `code`, or a text in place of the
 * object.
 */
export function envelopeOf(body) {
    if (typeof body !== 'object' || body === null || !('error' in body))
        return {};
    const { error } = body;
    // RFC 6749, section 5.2, as the OAuth operations answer.
    if ('error_description' in body)
        return { code: String(error), message: String(body.error_description) };
    if (typeof error === 'string')
        return { message: error };
    // The body comes from an upstream, so the type of each field is checked.
    const { code, type, message } = (error ?? {});
    const word = [code, type].find((value) => typeof value === 'string');
    return {
        ...(typeof word === 'string' && { code: word }),
        ...(typeof message === 'string' && { message }),
    };
}
function kindOf(status) {
    if (status === 401)
        return NotSignedInError;
    if (status === 403)
        return NotAllowedError;
    if (status === 410)
        return ExpiredError;
    if (status === 429)
        return RateLimitedError;
    return status >= 500 ? UnavailableError : SvcError;
}
