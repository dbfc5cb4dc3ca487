import { errorOf, StreamError, SvcError } from "./errors.js";
import { lines, parseEvent } from "./events.js";
import { isSendError } from "./send.js";
import { wait as realWait } from "./wait.js";
const RETRY_SECONDS = { first: 1, longest: 15 };
/**
 * Yields the events of an agent's session: first the stored ones, then each new one as it happens. When the connection
 * ends or breaks, it connects again and continues behind the last event, until the caller leaves the loop. Throws when
 * the first connection fails, an `SvcError` when the deployment refuses for good, and each error of the token store or
 * the `accessToken` function.
 */
export async function* followAgentSession(client, { sessionId, team, account, after: start = '0' }, { signal, wait = realWait } = {}) {
    let after = start;
    let seconds = 0;
    for (;;) {
        let isOpen = false;
        try {
            const query = { team, after, ...(account !== undefined && { account }) };
            const params = { path: { sessionId }, query };
            const request = { params, parseAs: 'stream', signal: signal ?? null };
            const { data, error, response } = await client.GET('/v1/sessions/{sessionId}/stream', request);
            if (!response.ok)
                throw errorOf(response, error);
            isOpen = true;
            seconds = RETRY_SECONDS.first;
            // With `parseAs: 'stream'` the data is the body of the answer.
            for await (const line of lines(data, signal)) {
                const event = parseEvent(line, response);
                after = event.id;
                seconds = RETRY_SECONDS.first;
                if (event.type !== 'heartbeat')
                    yield event;
            }
        }
        catch (error) {
            if (seconds === 0 || signal?.aborted || isFinal(error, isOpen))
                throw error;
            seconds = Math.min(seconds * 2, RETRY_SECONDS.longest);
        }
        await wait(seconds, signal);
    }
}
/** Whether connecting again cannot help: not after a refusal, nor after an error of the program itself. */
function isFinal(error, isOpen) {
    if (!(error instanceof SvcError))
        return !isOpen && !isSendError(error);
    return error instanceof StreamError || (error.status >= 400 && error.status < 500 && error.status !== 429);
}
