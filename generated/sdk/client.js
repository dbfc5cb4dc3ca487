import createFetchClient from 'openapi-fetch';
import { checkBaseUrl } from "./base-url.js";
import { errorOf, unexpectedAnswer } from "./errors.js";
import { withRetries, withSession, withToken } from "./fetch.js";
import { jsonOf } from "./json.js";
import { keepRequests } from "./send.js";
import { openSession } from "./session.js";
/**
 * Creates a typed client of a deployment. A call returns `{ data }` or `{ error }` with the bodies of the contract;
 * `unwrap` throws the error.
 */
export function createClient({ baseUrl, controlPlaneUrl = baseUrl, tokens, accessToken, retries = 2, longestWaitSeconds = 60, fetch: send = (request) => fetch(request), ...options }) {
    checkBaseUrl('baseUrl', baseUrl);
    checkBaseUrl('controlPlaneUrl', controlPlaneUrl);
    const kept = keepRequests(send);
    const retrying = withRetries(kept, { retries, longestWaitSeconds });
    const authenticated = () => {
        if (tokens) {
            const refreshing = withRetries(kept, refreshRetries({ retries, longestWaitSeconds }));
            return withSession(retrying, openSession({ baseUrl: controlPlaneUrl, tokens, fetch: refreshing }));
        }
        return accessToken === undefined ? retrying : withToken(retrying, accessToken);
    };
    const client = createFetchClient({
        // Another address would get the tokens.
        redirect: 'error',
        ...options,
        baseUrl,
        fetch: authenticated(),
    });
    client.use(refusingOthers);
    return client;
}
/** A refresh is sent again once and soon: it has a time limit, and all processes with these tokens wait for it. */
function refreshRetries({ retries, longestWaitSeconds }) {
    return { retries: Math.min(retries, 1), longestWaitSeconds: Math.min(longestWaitSeconds, 5) };
}
/** Throws where JSON or a stream is expected and something else arrives, because parsing it would explain nothing. */
const refusingOthers = {
    async onResponse({ request, response, options: { parseAs } }) {
        if (!response.ok || !['json', 'stream'].includes(parseAs))
            return;
        const type = (response.headers.get('content-type') ?? '').toLowerCase();
        const isPage = type.startsWith('text/html');
        if (!isPage && (parseAs === 'stream' || (await isJson(response.clone()))))
            return;
        await response.body?.cancel();
        const what = isPage ? 'a web page' : 'something else than JSON';
        throw unexpectedAnswer(response, `${new URL(request.url).origin} answered with ${what}.`, null);
    },
};
/** Whether a body is JSON, whatever its content type says. An empty one counts as JSON. */
async function isJson(response) {
    return jsonOf((await response.text()) || 'null') !== undefined;
}
/**
 * Returns the data of an answer, as in `await unwrap(client.GET('/v1/models'))`. Throws an `SvcError` when the answer
 * is an error.
 */
export async function unwrap(result) {
    const { data, error, response } = await result;
    if (!response.ok)
        throw errorOf(response, error);
    // No operation answers without content, but a proxy can.
    if (data === undefined || data === null)
        throw unexpectedAnswer(response, 'The answer has no content.', null);
    return data;
}
