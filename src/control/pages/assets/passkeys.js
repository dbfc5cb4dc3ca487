// Passkeys in the browser. A plain module: every part of a page that needs it is marked by a data attribute, and hidden
// until this script has found that the browser supports passkeys.
//
//   data-passkey-when="supported | unsupported"  shown in browsers that do or do not support passkeys
//   data-passkey="sign-in"                       button: sign in with the passkey that the person picks
//   data-passkey="offer"                         form: the browser offers passkeys in its email field
//   data-passkey="register"                      form: add a passkey to the signed-in account, with an optional name
//   data-passkey="list"                          the account's passkeys; the browser forgets others of this account
//   data-then="/path"                            the page to open after signing in; empty reloads this page
//   data-passkey-status                          where the nearest of the above reports progress and errors
//
// The script of the session page imports how this one calls the service.
import '/assets/simplewebauthn-browser.js'

const { browserSupportsWebAuthn, browserSupportsWebAuthnAutofill, startAuthentication, startRegistration } =
  globalThis.SimpleWebAuthnBrowser

const CODES = {
  offline: 'No connection to the service. Check your network and try again.',
  authenticate_first: 'You are not signed in any more. Reload this page and sign in again.',
  reauthenticate: 'Your sign-in is older than 15 minutes. Reload this page, confirm that it is you, and try again.',
  not_invited: 'Your invitation was withdrawn. Ask an admin of your team.',
  conflict: 'This passkey is in your account already, or the account is full.',
  expired: 'That took too long. Try again.',
  forbidden: 'The service refused a request from this address. Open it at its own address and try again.',
  service_unavailable: 'The service is not available right now. Nothing is lost; try again in a minute.',
  internal: 'Something broke in the service. Try again.',
}

const WEBAUTHN_NAMES = {
  NotAllowedError: 'No passkey was used: it was cancelled, took too long, or this device has none for this address.',
  InvalidStateError: 'This device holds a passkey for your account already.',
  SecurityError: 'Passkeys do not work on this address. Open the service at its own name, not by IP address.',
  NotSupportedError: 'This device cannot make the kind of passkey that is needed.',
  ConstraintError: 'This device cannot check that it is you. Set up a screen lock, fingerprint or PIN first.',
}

/**
 * A request that the service refused, or that got no answer: its status is then 0. `code` and `message` are those of
 * the error in the answer. `retryAfterSeconds` is 0 where the answer does not say how long to wait.
 */
export class Refusal extends Error {
  constructor({ status, code, message, retryAfterSeconds }) {
    super(message)
    this.name = 'Refusal'
    this.status = status
    this.code = code
    this.retryAfterSeconds = retryAfterSeconds
  }

  /** Whether the same request may succeed later: no connection, a rate limit, or an error of the service. */
  get isTemporary() {
    return this.status === 0 || this.status === 429 || this.status >= 500
  }
}

/** `fetch` for requests to the service. Throws a `Refusal` when there is no answer, or one that is not a success. */
export async function request(path, options) {
  const answer = await fetch(path, options).catch(() => {
    throw new Refusal({ status: 0, code: 'offline', message: CODES.offline, retryAfterSeconds: 0 })
  })
  if (answer.ok) return answer
  const content = await answer.json().catch(() => ({}))
  throw new Refusal({
    status: answer.status,
    code: content?.error?.code ?? '',
    message: content?.error?.message ?? 'The service did not accept this.',
    retryAfterSeconds: Number(answer.headers.get('Retry-After')),
  })
}

async function post(path, body) {
  const answer = await request(path, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', Accept: 'application/json', 'X-Svc-Use-Cookies': 'true' },
    body: JSON.stringify(body),
  })
  return answer.json().catch(() => ({}))
}

async function signIn(options = {}) {
  const optionsJSON = options.optionsJSON ?? (await post('/v1/auth/passkeys/login/start', {}))
  const credential = await startAuthentication({ optionsJSON, useBrowserAutofill: options.autofill === true })
  options.onPicked?.()
  await post('/v1/auth/passkeys/login/finish', { credential })
}

async function register(name) {
  const optionsJSON = await post('/v1/auth/passkeys/register/start', {})
  const credential = await startRegistration({ optionsJSON })
  await post('/v1/auth/passkeys/register/finish', { credential, ...(name ? { name } : {}) })
}

/** What to tell the person; empty when they only changed to another way of signing in. */
function explain(error, refused) {
  if (error instanceof Refusal) return explainRefusal(error, refused)
  // The library wraps what the browser threw, and keeps its name or its cause.
  const name = error?.cause?.name ?? error?.name
  if (name === 'AbortError' || error?.code === 'ERROR_CEREMONY_ABORTED') return ''
  return WEBAUTHN_NAMES[name] ?? 'The passkey could not be used. Try again.'
}

function explainRefusal({ status, code, retryAfterSeconds }, refused) {
  if (status === 429) {
    const wait = retryAfterSeconds > 0 ? `${retryAfterSeconds} seconds` : 'a few minutes'
    return `Too many tries. Wait ${wait}, then try again.`
  }
  if (code === 'unauthorized') return refused
  return CODES[code] ?? 'The service did not accept this. Try again.'
}

const REFUSED_SIGN_IN =
  'This passkey did not sign you in: it was deleted, belongs to another address, or waited too long. ' +
  'Try again, or use the link in your email.'
const REFUSED_REGISTRATION =
  'The passkey was not added: you are not signed in any more, or it took too long. Reload this page.'

function go(then) {
  // `replace`, so that the Back button does not return to a finished sign-in.
  if (then) location.replace(then)
  else location.reload()
}

/** Runs one ceremony at a time for an element, reports its progress, and opens `then` afterwards. */
async function run(element, { working, refused }, ceremony, then) {
  const say = sayFor(element)
  if (isBusy(element)) return
  element.setAttribute('aria-busy', 'true')
  say(working)
  try {
    await ceremony()
    go(then)
  } catch (error) {
    say(explain(error, refused), 'bad')
    element.removeAttribute('aria-busy')
  }
}

function isBusy(element) {
  return element.getAttribute('aria-busy') === 'true'
}

function isAnyBusy() {
  return document.querySelector('[aria-busy="true"]') !== null
}

function sayFor(element) {
  const status = (element.matches('form') ? element : element.parentElement).querySelector('[data-passkey-status]')
  return (text, tone = '') => {
    status.textContent = text
    status.className = `status ${tone}`
  }
}

const SIGNING_IN = { working: 'Waiting for your passkey…', refused: REFUSED_SIGN_IN }
const REGISTERING = { working: 'Waiting for your device…', refused: REFUSED_REGISTRATION }

function startSignInButton(button) {
  button.addEventListener('click', async () => {
    await run(button, SIGNING_IN, () => signIn(), button.dataset.then)
    if (isBusy(button)) return
    // The ceremony of the button ended the offer in the field.
    for (const form of document.querySelectorAll('[data-passkey="offer"]')) void offerInField(form)
  })
}

/** How long an offer waits for its next try when the service could not be reached, or did not say how long to wait. */
const OFFER_RETRY_SECONDS = 10

/**
 * Lets the browser offer passkeys in the email field, unless the button is in use. The challenge is renewed before it
 * expires. Where the service gives no challenge, the offer is tried again later: the browser may be offline, or the
 * service may be restarting.
 */
async function offerInField(form) {
  if (!(await browserSupportsWebAuthnAutofill()) || isAnyBusy()) return
  let renewal
  let picked = false
  try {
    const optionsJSON = await post('/v1/auth/passkeys/login/start', {})
    // The button may have been pressed in the meantime, and an offer would end its ceremony.
    if (isAnyBusy()) return
    renewal = setTimeout(() => void offerInField(form), (optionsJSON.timeout ?? 300_000) * 0.8)
    const onPicked = () => {
      picked = true
      clearTimeout(renewal)
      sayFor(form)('Signing in…')
    }
    await signIn({ optionsJSON, autofill: true, onPicked })
    go(form.dataset.then)
  } catch (error) {
    if (picked) {
      sayFor(form)(explain(error, REFUSED_SIGN_IN), 'bad')
      void offerInField(form)
    } else if (error instanceof Refusal && error.isTemporary) {
      // The person did not request this offer, so its errors are not shown.
      setTimeout(() => void offerInField(form), (error.retryAfterSeconds || OFFER_RETRY_SECONDS) * 1000)
    }
  } finally {
    clearTimeout(renewal)
  }
}

function startRegisterForm(form) {
  form.addEventListener('submit', (event) => {
    event.preventDefault()
    void run(form, REGISTERING, () => register(form.elements.name.value.trim()), location.pathname)
  })
}

/**
 * Tells the browser which passkeys the account has (WebAuthn Level 3, section 5.1.10.3), so that its password manager
 * no longer offers one that was deleted here. A refused sign-in is not reported: the service does not say whether it
 * knows a passkey, and a passkey whose challenge only expired must not be forgotten.
 */
function signalAccepted({ dataset }) {
  // Browsers without this method, and password managers that ignore it, keep their passkeys.
  void globalThis.PublicKeyCredential.signalAllAcceptedCredentials?.({
    rpId: dataset.rpId,
    userId: dataset.userId,
    allAcceptedCredentialIds: dataset.accepted.split(' ').filter(Boolean),
  }).catch(() => undefined)
}

const STARTERS = {
  'sign-in': startSignInButton,
  offer: (form) => void offerInField(form),
  register: startRegisterForm,
  list: signalAccepted,
}

const state = browserSupportsWebAuthn() ? 'supported' : 'unsupported'
for (const element of document.querySelectorAll('[data-passkey-when]'))
  element.hidden = element.dataset.passkeyWhen !== state
if (state === 'supported') {
  for (const element of document.querySelectorAll('[data-passkey]')) STARTERS[element.dataset.passkey]?.(element)
}
