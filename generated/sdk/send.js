const sendErrors = new WeakSet();
/** What belongs to a request: a copy of it, or the body of its answer. */
const requestsOf = new WeakMap();
/**
 * Makes a function that keeps each request until its answer was read or given up. In Node.js, one that is collected as
 * garbage meanwhile can neither be cancelled nor time out (nodejs/undici#4068).
 */
export function keepRequests(send) {
    return async (request) => {
        try {
            const response = await send(request);
            if (response.body)
                requestsOf.set(response.body, request);
            return response;
        }
        catch (error) {
            if (error instanceof Error)
                sendErrors.add(error);
            throw error;
        }
    };
}
/** Whether sending a request has failed with this error. Others come from the program, as from its token store. */
export function isSendError(error) {
    return error instanceof Error && sendErrors.has(error);
}
/** Copies a request, so that it can be sent again. For the same reason the copy gets a signal that it keeps. */
export function copyRequest(request) {
    const copy = new Request(request.clone(), { signal: request.signal });
    requestsOf.set(copy, request);
    return copy;
}
