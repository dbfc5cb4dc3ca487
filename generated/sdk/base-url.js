/**
 * With a user name and a password, `fetch` throws an error that shows them. A query would take in the path of each
 * call.
 */
const BASE_URL = /^https?:\/\/[^\s/?#@]+(\/[^\s?#]*)?$/i;
/** Throws a `TypeError` for a URL that `fetch` refuses without saying why, such as one without a scheme. */
export function checkBaseUrl(name, url) {
    if (BASE_URL.test(url))
        return;
    throw new TypeError(`${name} is not the URL of a deployment. Give one such as https://svc.example.com: with its scheme, and without ` +
        'user name, password and query.');
}
