/** Resolves after the given seconds. Rejects with the signal's reason as soon as the signal is aborted. */
export type Wait = (seconds: number, signal?: AbortSignal) => Promise<void>;
export declare const wait: Wait;
