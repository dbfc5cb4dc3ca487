/** Throws a `TypeError` for a URL that `fetch` refuses without saying why, such as one without a scheme. */
export declare function checkBaseUrl(name: 'baseUrl' | 'controlPlaneUrl', url: string): void;
