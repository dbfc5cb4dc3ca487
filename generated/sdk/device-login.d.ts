import type { StartDeviceLogin, StartedDeviceLogin, TokenSet } from './openapi.js';
import type { Send } from './fetch.ts';
import type { TokenStore } from './session.ts';
import type { Wait } from './wait.ts';
export type DeviceLoginOptions = StartDeviceLogin & {
    /** The address of the deployment. */
    readonly baseUrl: string;
    /** Shows the code to the person, who compares it with the mail and the page. Polling begins when it is done. */
    readonly onCode: (login: Omit<StartedDeviceLogin, 'deviceCode'>) => void | Promise<void>;
    /** Where to keep the tokens; without it they are only returned. */
    readonly tokens?: TokenStore | undefined;
    /** Gives the login up; it then rejects with the signal's reason. */
    readonly signal?: AbortSignal | undefined;
    readonly fetch?: Send | undefined;
    /** Waits between polls; timers of the runtime unless given. */
    readonly wait?: Wait | undefined;
};
/**
 * Signs this device in: starts a login, shows its code, and polls as the service says until the person has decided. Throws an `SvcError`:
 * `not_invited`, `access_denied`, `expired` and the others of the contract.
 */
export declare function deviceLogin(options: DeviceLoginOptions): Promise<TokenSet>;
