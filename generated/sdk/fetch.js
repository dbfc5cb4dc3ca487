import { retryAfterOf } from "./errors.js";
import { wait as realWait } from "./wait.js";
/**
 * Sends again what was refused for the moment: 429 and 503 that say how long to wait (`Retry-After`), unless the answer says that
 * waiting is no cure (`x-should-retry: false`). Nothing else: a call that broke off may have been made.
 */
export function retrying(send, { retries, longestWaitSeconds, wait = realWait }) {
    return async (request) => {
        for (let left = retries;; left--) {
            const response = await send(left > 0 ? request.clone() : request);
            const seconds = left > 0 ? cureSeconds(response) : null;
            if (seconds === null || seconds > longestWaitSeconds)
                return response;
            await response.body?.cancel();
            await wait(seconds, request.signal);
        }
    };
}
/** After how many seconds the same request can work; null when the answer does not promise that. */
function cureSeconds(response) {
    const isBusy = response.status === 429 || response.status === 503;
    return isBusy && response.headers.get('x-should-retry') !== 'false' ? retryAfterOf(response) : null;
}
/** Adds the access token of a session, and refreshes it once when it is refused. */
export function signed(send, session) {
    return async (request) => {
        const token = await session.accessToken();
        if (token === null)
            return send(request);
        const first = withBearer(request.clone(), token);
        const response = await send(first);
        if (response.status !== 401 || isScopedByItsBody(request))
            return response;
        const next = await session.renew(token);
        if (next === null)
            return response;
        await response.body?.cancel();
        return send(withBearer(request, next));
    };
}
/** Adds a token that somebody else looks after. */
export function withToken(send, accessToken) {
    return async (request) => send(withBearer(request, typeof accessToken === 'string' ? accessToken : await accessToken()));
}
function withBearer(request, token) {
    request.headers.set('authorization', `Bearer ${token}`);
    return request;
}
/** There, 401 is about the code or token in the body, and a fresh access token changes nothing. */
function isScopedByItsBody({ url }) {
    return /\/v1\/auth\/(device|login|magic|token|passkeys\/login)\//.test(new URL(url).pathname);
}
