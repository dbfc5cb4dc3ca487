import createFetchClient from 'openapi-fetch';
/** A typed client of a deployment. Answers are `{ data }` or `{ error }` with the contract's bodies. */
export function createClient({ accessToken, ...options }) {
    const client = createFetchClient(options);
    if (accessToken !== undefined)
        client.use(bearer(accessToken));
    return client;
}
/**
 * The data of each server-sent event of a streamed call (`parseAs: 'stream'`), parsed. Ends at `[DONE]` or with the stream; throws when the
 * connection breaks.
 */
export async function* events(stream) {
    const reader = stream.pipeThrough(new TextDecoderStream()).getReader();
    let rest = '';
    try {
        for (let read = await reader.read(); !read.done; read = await reader.read()) {
            const blocks = (rest + read.value).split(/\r?\n\r?\n/);
            rest = blocks.pop() ?? '';
            for (const data of blocks.map(dataOf)) {
                if (data === '[DONE]')
                    return;
                if (data !== '')
                    yield JSON.parse(data);
            }
        }
    }
    finally {
        await reader.cancel().catch(() => { });
    }
}
function bearer(accessToken) {
    return {
        async onRequest({ request }) {
            const token = typeof accessToken === 'string' ? accessToken : await accessToken();
            request.headers.set('authorization', `Bearer ${token}`);
            return request;
        },
    };
}
function dataOf(block) {
    const lines = block.split(/\r?\n/).filter((line) => line.startsWith('data:'));
    return lines.map((line) => line.slice(5).replace(/^ /, '')).join('\n');
}
