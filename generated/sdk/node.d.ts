import type { TokenStore } from './session.ts';
/**
 * Keeps the tokens of a device in a file that only its owner can read (mode 0600). Each write replaces the file as a whole, and a lock file
 * beside it (`FILE.lock`) keeps processes that share it from refreshing at the same time.
 */
export declare function fileTokenStore(file: string): TokenStore;
