import type { StartDeviceLogin, StartedDeviceLogin, TokenSet } from './openapi.js';
import type { Send } from './send.ts';
import type { StoredTokens, TokenStore } from './session.ts';
import type { Wait } from './wait.ts';
export type DeviceLoginOptions = StartDeviceLogin & {
    /** The base URL of the deployment. */
    readonly baseUrl: string;
    /**
     * Shows the code to the person, who compares it with the email and the page. Polling starts when this function has
     * returned.
     */
    readonly onCode: (login: Omit<StartedDeviceLogin, 'deviceCode'>) => void | Promise<void>;
    /**
     * Where to store the tokens. Without a store they are only returned. When it cannot store them, the new session is
     * ended, and its error is thrown. When it had tokens of another account or device, their session is ended.
     */
    readonly tokens?: TokenStore | undefined;
    /** Cancels the login, which then rejects with the signal's reason. */
    readonly signal?: AbortSignal | undefined;
    readonly fetch?: Send | undefined;
    /** Waits between polls. Default: a timer of the runtime. */
    readonly wait?: Wait | undefined;
};
/**
 * Signs this device in: starts a login, shows its code, and polls until the person has approved or denied it. Throws an
 * `SvcError` with a code of the contract, such as `not_invited`, `access_denied` or `expired`.
 */
export declare function deviceLogin(options: DeviceLoginOptions): Promise<TokenSet>;
/** Whether the service ends the earlier session by itself. */
export declare function isReplaced({ account, deviceId }: StoredTokens, next: StoredTokens): boolean;
/** Ends the session of these tokens at the deployment. One that has already ended is no failure. */
export declare function endSession(tokens: StoredTokens, { baseUrl, fetch: send }: Pick<DeviceLoginOptions, 'baseUrl' | 'fetch'>): Promise<void>;
/** What a store keeps of the tokens of a login. */
export declare function toStored({ account, team, deviceId, accessToken, refreshToken, expiresAt }: TokenSet): StoredTokens;
