import type { FileHandle } from 'node:fs/promises';
/** Reads a file as text; null when there is none. Every error has the path of the file. */
export declare function readText(file: string, encoding?: BufferEncoding): Promise<string | null>;
/**
 * Replaces a file as a whole: a reader finds the old content or the new one, also after the machine has stopped. Makes
 * its directory where there is none. Only this user can read the file, unless `mode` says otherwise. Errors have the
 * path of this file, although another one is written first.
 */
export declare function rewriteFile(file: string, content: string | Uint8Array, mode?: number): Promise<void>;
/** Writes the content of an open file. An error has the path of the file, as the errors of `open` have. */
export declare function writeContent(handle: FileHandle, file: string, content: string | Uint8Array): Promise<void>;
/**
 * Does work that needs a file which no other process has open. Windows refuses it while another one reads the file, for
 * milliseconds. So there it is repeated, for about a second.
 */
export declare function whenFree<T>(work: () => Promise<T>, platform?: string): Promise<T>;
/** Whether an error of Node.js has one of these codes. */
export declare function hasCode(error: unknown, ...codes: readonly string[]): boolean;
