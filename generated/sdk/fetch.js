import { retryAfterOf } from "./errors.js";
import { copyRequest } from "./send.js";
import { wait as realWait } from "./wait.js";
/**
 * Sends a request again after 429 and 503 with `Retry-After`, unless the answer has `x-should-retry: false`. Nothing
 * else is sent again: a request whose connection broke may have been carried out.
 */
export function withRetries(send, { retries, longestWaitSeconds, wait = realWait }) {
    return async (request) => {
        for (let left = retries;; left--) {
            const response = await send(left > 0 ? copyRequest(request) : request);
            const seconds = left > 0 ? retrySeconds(response) : null;
            if (seconds === null || seconds > longestWaitSeconds)
                return response;
            await response.body?.cancel();
            await wait(seconds, request.signal);
        }
    };
}
/** After how many seconds the same request can succeed. Null when it is not to be sent again. */
function retrySeconds(response) {
    const isBusy = response.status === 429 || response.status === 503;
    return isBusy && response.headers.get('x-should-retry') !== 'false' ? retryAfterOf(response) : null;
}
/** Adds the access token of a session. When the token is rejected, refreshes it and sends the request once more. */
export function withSession(send, session) {
    return async (request) => {
        const token = await orAborted(request, session.accessToken());
        if (token === null)
            return send(request);
        const first = withBearer(copyRequest(request), token);
        const response = await send(first);
        if (response.status !== 401 || checksCredentialInBody(request))
            return response;
        const next = await orAborted(request, session.renew(token));
        if (next === null)
            return response;
        await response.body?.cancel();
        return send(withBearer(request, next));
    };
}
/** Adds an access token that the caller provides. */
export function withToken(send, accessToken) {
    return async (request) => {
        const token = typeof accessToken === 'string' ? accessToken : orAborted(request, accessToken());
        return send(withBearer(request, await token));
    };
}
/** Settles as the promise does, or rejects at once when the request is aborted. */
function orAborted({ signal }, promise) {
    return new Promise((resolve, reject) => {
        Promise.resolve(promise).then(resolve, reject);
        signal.addEventListener('abort', () => reject(signal.reason));
        signal.throwIfAborted();
    });
}
/** White space around a token is left out, such as the line break of a file. */
function withBearer(request, given) {
    const token = given.trim();
    // The error of `fetch` would show the token.
    if (/[^!-~]/.test(token))
        throw new TypeError('The access token has a character that no access token has.');
    request.headers.set('authorization', `Bearer ${token}`);
    return request;
}
/** Whether a 401 of this route is about a code or token in the body, so that a new access token changes nothing. */
function checksCredentialInBody({ url }) {
    return /\/v1\/auth\/(device|login|magic|token|passkeys\/login)\//.test(new URL(url).pathname);
}
