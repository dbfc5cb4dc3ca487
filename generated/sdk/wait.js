export const wait = (seconds, signal) => new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    const stop = () => {
        clearTimeout(timer);
        // The reason may be any value of the caller; it is passed on as it is.
        reject(signal?.reason);
    };
    const timer = setTimeout(() => {
        signal?.removeEventListener('abort', stop);
        resolve();
    }, seconds * 1000);
    signal?.addEventListener('abort', stop, { once: true });
});
