/** Runs a task while no other process runs one with the lock of this file, which is a file beside it (`FILE.lock`). */
export declare function withLock<T>(file: string, task: () => Promise<T>): Promise<T>;
