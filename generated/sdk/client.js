import createFetchClient from 'openapi-fetch';
import { errorOf } from "./errors.js";
import { retrying, signed, withToken } from "./fetch.js";
import { openSession } from "./session.js";
/** A typed client of a deployment. Answers are `{ data }` or `{ error }` with the contract's bodies; `unwrap` makes one of them throw. */
export function createClient({ baseUrl, tokens, accessToken, retries = 2, longestWaitSeconds = 60, fetch: send = (request) => fetch(request), ...options }) {
    const patient = retrying(send, { retries, longestWaitSeconds });
    const own = () => {
        if (tokens)
            return signed(patient, openSession({ baseUrl, tokens, fetch: patient }));
        return accessToken === undefined ? patient : withToken(patient, accessToken);
    };
    return createFetchClient({ ...options, baseUrl, fetch: own() });
}
/** The data of an answer, as in `await unwrap(client.GET('/v1/models'))`; throws an `SvcError` when it is an error. */
export async function unwrap(result) {
    const { data, error, response } = await result;
    if (!response.ok || data === undefined || data === null)
        throw errorOf(response, error);
    return data;
}
