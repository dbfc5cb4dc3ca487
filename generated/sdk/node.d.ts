import type { TokenStore } from './session.ts';
/**
 * Stores the tokens of a device in a file that only its owner can read (mode 0600). Each write replaces the whole file.
 * A lock file beside it (`FILE.lock`) prevents that several processes refresh the tokens at the same time.
 */
export declare function fileTokenStore(file: string): TokenStore;
