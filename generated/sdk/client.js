import createFetchClient from 'openapi-fetch';
import { errorOf, unexpectedAnswer } from "./errors.js";
import { withRetries, withSession, withToken } from "./fetch.js";
import { keepRequests } from "./send.js";
import { openSession } from "./session.js";
/**
 * Creates a typed client of a deployment. A call returns `{ data }` or `{ error }` with the bodies of the contract;
 * `unwrap` throws the error.
 */
export function createClient({ baseUrl, controlPlaneUrl = baseUrl, tokens, accessToken, retries = 2, longestWaitSeconds = 60, fetch: send = (request) => fetch(request), ...options }) {
    const retrying = withRetries(keepRequests(send), { retries, longestWaitSeconds });
    const authenticated = () => {
        if (tokens)
            return withSession(retrying, openSession({ baseUrl: controlPlaneUrl, tokens, fetch: retrying }));
        return accessToken === undefined ? retrying : withToken(retrying, accessToken);
    };
    const client = createFetchClient({ ...options, baseUrl, fetch: authenticated() });
    client.use(refusingPages);
    return client;
}
/** Throws where JSON or a stream is expected and a web page arrives, because parsing it would explain nothing. */
const refusingPages = {
    async onResponse({ request, response, options: { parseAs } }) {
        const isPage = response.headers.get('content-type')?.startsWith('text/html') === true;
        if (!response.ok || !isPage || !['json', 'stream'].includes(parseAs))
            return;
        await response.body?.cancel();
        throw unexpectedAnswer(response, `${new URL(request.url).origin} answered with a web page.`, null);
    },
};
/**
 * Returns the data of an answer, as in `await unwrap(client.GET('/v1/models'))`. Throws an `SvcError` when the answer
 * is an error.
 */
export async function unwrap(result) {
    const { data, error, response } = await result;
    if (!response.ok || data === undefined || data === null)
        throw errorOf(response, error);
    return data;
}
