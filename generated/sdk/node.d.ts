import type { TokenStore } from './session.ts';
/** The file of a token store contains something else. The message names the file and says what to do. */
export declare class TokenFileError extends Error {
    readonly name = "TokenFileError";
}
/**
 * Stores the tokens of a device in a file that only its owner can read (mode 0600). Each write replaces the whole file.
 * A lock file beside it (`FILE.lock`) prevents that several processes refresh the tokens at the same time.
 */
export declare function fileTokenStore(file: string): TokenStore;
