import { errorOf } from "./errors.js";
/** Keeps the tokens while the program runs. */
export function memoryTokenStore(tokens = null) {
    let held = tokens;
    let last = Promise.resolve();
    return {
        load: () => Promise.resolve(held),
        save(next) {
            held = next;
            return Promise.resolve();
        },
        exclusively(task) {
            const result = last.then(task);
            last = result.catch(() => { });
            return result;
        },
    };
}
/** How long an answer may take. */
const TIMEOUT_MS = 10_000;
/**
 * The session of a signed-in device. However many requests find their token refused at once, in however many processes that share the
 * store, there is one refresh: it runs alone, and who comes later finds another token than the one that was refused.
 */
export function openSession({ baseUrl, tokens, fetch: send = (request) => fetch(request) }) {
    return {
        accessToken: async () => (await tokens.load())?.accessToken ?? null,
        renew: (refused) => tokens.exclusively(async () => {
            const held = await tokens.load();
            if (held === null || held.accessToken !== refused)
                return held?.accessToken ?? null;
            const next = await refresh(`${baseUrl.replace(/\/$/, '')}/v1/auth/token/refresh`, held, send);
            await tokens.save(next);
            return next?.accessToken ?? null;
        }),
    };
}
/** The next tokens; null when the service says that there are none for this one any more. */
async function refresh(url, { account, refreshToken }, send) {
    const ask = () => send(new Request(url, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ account, refreshToken }),
        signal: AbortSignal.timeout(TIMEOUT_MS),
    }));
    // An answer may be lost on the way; the contract lets the same client repeat the request for a short while.
    const response = await ask().catch(ask);
    const body = await response.json().catch(() => null);
    // The contract's body of this status.
    if (response.ok)
        return body;
    const error = errorOf(response, body);
    if (error.code === 'unauthorized' || error.code === 'expired')
        return null;
    throw error;
}
