import { createClient, unwrap } from "./client.js";
import { NotSignedInError, SvcError, unexpectedAnswer } from "./errors.js";
import { memoryTokenStore } from "./session.js";
import { wait as realWait } from "./wait.js";
/** The wait between polls is this much longer than required, so that a clock that runs fast does not poll too early. */
const POLL_INTERVAL_FACTOR = 1.2;
/** After more failed polls in a row than this, the login is given up. */
const MAX_FAILURES = 5;
/**
 * Signs this device in: starts a login, shows its code, and polls until the person has approved or denied it. Throws an
 * `SvcError` with a code of the contract, such as `not_invited`, `access_denied` or `expired`.
 */
export async function deviceLogin(options) {
    const { baseUrl, onCode, tokens, signal, fetch: send, wait = realWait, ...body } = options;
    const client = createClient({ baseUrl, retries: 0, fetch: send });
    const starting = client.POST('/v1/auth/device/start', { body, signal: signal ?? null });
    const started = await unwrap(starting);
    if (!isStarted(started))
        throw unexpectedAnswer((await starting).response, `${baseUrl} did not start a login.`, started);
    const { deviceCode, ...shown } = started;
    await onCode(shown);
    const granted = await poll(client, { deviceCode, intervalSeconds: shown.intervalSeconds }, { wait, signal });
    if (!tokens)
        return granted;
    const stored = toStored(granted);
    const end = (session) => endSession(session, { baseUrl, fetch: send }).catch(() => { });
    const earlier = await replaceTokens(tokens, stored).catch(async (error) => {
        // The error of the store says what to repair, also where the session could not be ended.
        await end(stored);
        throw error;
    });
    if (earlier && !isReplaced(earlier, stored))
        await end(earlier);
    return granted;
}
/** Whether the service ends the earlier session by itself. */
export function isReplaced({ account, deviceId }, next) {
    return account === next.account && deviceId === next.deviceId;
}
/** Stores tokens. Returns the earlier ones; null when there are none, or damaged ones. */
async function replaceTokens(tokens, next) {
    return tokens.exclusively(async () => {
        const earlier = await tokens.load().catch(() => null);
        await tokens.save(next);
        return earlier;
    });
}
/** Ends the session of these tokens at the deployment. One that has already ended is no failure. */
export async function endSession(tokens, { baseUrl, fetch: send }) {
    const held = memoryTokenStore(tokens);
    const client = createClient({ baseUrl, tokens: held, retries: 0, fetch: send });
    const ended = unwrap(client.POST('/v1/auth/logout'));
    await ended.catch((error) => {
        if (!(error instanceof NotSignedInError))
            throw error;
    });
}
/** Whether an answer has what the login needs. Another service may answer with any JSON. */
function isStarted({ deviceCode, userCode, verificationUri, intervalSeconds }) {
    const texts = [deviceCode, userCode, verificationUri];
    return texts.every((text) => typeof text === 'string') && Number.isFinite(intervalSeconds);
}
/** Polls until the login is decided. While the service cannot be reached, the wait doubles with each failure. */
async function poll(client, { deviceCode, intervalSeconds }, { wait, signal }) {
    let seconds = intervalSeconds;
    for (let failures = 0;;) {
        await wait(seconds * POLL_INTERVAL_FACTOR, signal);
        try {
            return await unwrap(client.POST('/v1/auth/device/poll', { body: { deviceCode }, signal: signal ?? null }));
        }
        catch (error) {
            signal?.throwIfAborted();
            const { isPending, canRetry, retryAfterSeconds } = readFailure(error);
            failures = isPending ? 0 : failures + 1;
            if (!canRetry || failures > MAX_FAILURES)
                throw error;
            seconds = Math.max(intervalSeconds * 2 ** failures, retryAfterSeconds);
        }
    }
}
/** What a failed poll means for the next one. An error that is no `SvcError` means that there was no answer. */
function readFailure(error) {
    if (!(error instanceof SvcError))
        return { isPending: false, canRetry: true, retryAfterSeconds: 0 };
    const isPending = error.code === 'authorization_pending' || error.code === 'rate_limited';
    const isRefusal = error.status >= 400 && error.status < 500;
    return { isPending, canRetry: isPending || !isRefusal, retryAfterSeconds: error.retryAfterSeconds ?? 0 };
}
/** What a store keeps of the tokens of a login. */
export function toStored({ account, team, deviceId, accessToken, refreshToken, expiresAt }) {
    return { account, team, deviceId, accessToken, refreshToken, expiresAt };
}
