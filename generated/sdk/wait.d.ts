/** Resolves after so many seconds; rejects with the signal's reason as soon as that is aborted. */
export type Wait = (seconds: number, signal?: AbortSignal) => Promise<void>;
export declare const wait: Wait;
