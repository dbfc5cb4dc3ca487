// The session page. A plain module without dependencies. The page has all the markup: this script shows one of its
// parts, and fills in text.
//
//   data-part="sign-in | list | session"   what is shown to whom
//   data-field="..."                       an element whose text this script sets
//   data-template="session | call"         a row of a list
//
// The address says what to show: #id=RUN&account=EMAIL&team=@acme/core, where only `id` is needed, or just #RUN.
// Without an id: the sessions of the team.
import { Refusal, request } from '/assets/passkeys.js'

const LIST_INTERVAL_MS = 5000
const RETRY_MS = { first: 1000, longest: 15_000 }
/** Older calls leave the page, but stay in the sums. */
const MAX_ROWS = 500
/** A call whose gateway was killed has no end. */
const MAX_CALL_MS = 3_600_000

/** Written as on the other pages, which are in English: `12,345` and `21 Nov 2026, 10:15:30 GMT+1`. */
const numbers = new Intl.NumberFormat('en-US')
const times = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'long' })

async function getJson(path, signal) {
  return (await request(path, { headers: { Accept: 'application/json' }, signal })).json()
}

// ---- what to show -----------------------------------------------------------------------------------------------

function readAddress(hash) {
  const text = hash.slice(1)
  if (!/^(id|account|team)=/.test(text)) return { id: decode(text) }
  return Object.fromEntries(new URLSearchParams(text))
}

function decode(text) {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** Runs until the address changes, and again after every failure that may pass. */
async function show(signal) {
  const place = readAddress(location.hash)
  let waitMs = RETRY_MS.first
  while (!signal.aborted) {
    try {
      const { user } = await getJson('/device', signal)
      const team = place.team ?? user.team
      if (place.id) await showSession({ id: place.id, account: place.account ?? user.email, team }, signal)
      else await showList(team, signal, () => (waitMs = RETRY_MS.first))
    } catch (error) {
      if (signal.aborted) return
      if (isFinal(error)) return explain(error)
      say('There is no connection to the service. Trying again…')
      await sleep(error.retryAfterSeconds * 1000 || waitMs, signal)
      waitMs = Math.min(waitMs * 2, RETRY_MS.longest)
    }
  }
}

/** Whether trying again cannot help. It can after other errors, such as that of a stream that breaks off. */
function isFinal(error) {
  return error instanceof Refusal && !error.isTemporary
}

function explain(error) {
  showPart(error.status === 401 ? 'sign-in' : 'nothing')
  say(error.status === 401 ? 'You are not signed in.' : error.message)
}

// ---- the list ---------------------------------------------------------------------------------------------------

async function showList(team, signal, onShown) {
  field('title').textContent = 'Sessions'
  field('who').textContent = team
  while (!signal.aborted) {
    const { sessions } = await getJson(`/v1/teams/${encodeURIComponent(team)}/sessions`, signal)
    say('')
    field('no-sessions').hidden = sessions.length > 0
    field('sessions').replaceChildren(...sessions.map((session) => toSessionRow(session, team)))
    showPart('list')
    onShown()
    await sleep(LIST_INTERVAL_MS, signal)
  }
}

function toSessionRow({ id, account, model, calls, failedCalls, runningCalls, tokens, lastActiveAt }, team) {
  const row = newRow('session')
  const link = field('link', row)
  link.textContent = id
  link.href = `#${new URLSearchParams({ id, account, team })}`
  setState(row, runningCalls > 0 ? 'running' : 'idle')
  field('facts', row).textContent = [account, model, `last active ${times.format(new Date(lastActiveAt))}`].join(' · ')
  field('tokens', row).textContent = `${toCalls(calls, failedCalls)} · ${toTokens(tokens)}`
  return row
}

// ---- one session ------------------------------------------------------------------------------------------------

async function showSession({ id, account, team }, signal) {
  const session = { after: '0', calls: new Map(), ended: 0, failed: 0, input: 0, output: 0 }
  field('title').textContent = id
  field('who').textContent = `${account} · ${team}`
  field('back').href = `#${new URLSearchParams({ team })}`
  field('timeline').replaceChildren()
  const clock = setInterval(() => showTimes(session), 1000)
  signal.addEventListener('abort', () => clearInterval(clock), { once: true })
  try {
    await followForever(session, { id, account, team }, signal)
  } finally {
    clearInterval(clock)
  }
}

/** Reads the stream, and goes on behind the last event when it ends or breaks. */
async function followForever(session, { id, account, team }, signal) {
  let waitMs = RETRY_MS.first
  while (!signal.aborted) {
    try {
      const query = new URLSearchParams({ team, account, after: session.after })
      const headers = { Accept: 'application/x-ndjson' }
      const answer = await request(`/v1/sessions/${encodeURIComponent(id)}/stream?${query}`, { headers, signal })
      for await (const event of readLines(answer.body)) {
        waitMs = RETRY_MS.first
        addEvent(session, event)
      }
    } catch (error) {
      if (signal.aborted || isFinal(error)) throw error
      waitMs = error.retryAfterSeconds * 1000 || Math.min(waitMs * 2, RETRY_MS.longest)
    }
    say('The connection ended. Connecting again…')
    await sleep(waitMs, signal)
  }
}

async function* readLines(body) {
  let text = ''
  const reader = body.pipeThrough(new TextDecoderStream()).getReader()
  for (let read = await reader.read(); !read.done; read = await reader.read()) {
    const lines = (text + read.value).split('\n')
    text = lines.pop()
    for (const line of lines) yield JSON.parse(line)
  }
}

function addEvent(session, event) {
  session.after = event.id
  // The first heartbeat follows the last stored event.
  if (event.type === 'heartbeat') {
    say('Live: new calls appear by themselves.')
    showPart('session')
    return showSums(session)
  }
  const call = session.calls.get(event.requestId) ?? beginCall(session, event)
  Object.assign(call, event)
  addTokens(session, event)
  if (ENDS.includes(event.type)) endCall(session, event)
  showCall(call)
  showSums(session)
}

const ENDS = ['call.finished', 'call.failed']

function beginCall(session, { requestId, at }) {
  const call = { row: newRow('call'), startedAt: at }
  session.calls.set(requestId, call)
  const timeline = field('timeline')
  timeline.prepend(call.row)
  if (timeline.children.length > MAX_ROWS) timeline.lastElementChild.remove()
  return call
}

function endCall(session, { type, requestId }) {
  session.calls.delete(requestId)
  session.ended += 1
  session.failed += type === 'call.failed' ? 1 : 0
}

function addTokens(session, { tokens = {}, costNanoUsd }) {
  session.input += tokens.input ?? 0
  session.output += tokens.output ?? 0
  if (costNanoUsd !== undefined) session.cost = (session.cost ?? 0) + costNanoUsd
}

function showCall(call) {
  const {
    row,
    type,
    model,
    dialect,
    servedBy,
    startedAt,
    durationMs,
    firstByteMs,
    outcome,
    status,
    tokens,
    costNanoUsd,
  } = call
  field('model', row).textContent = model
  setState(row, ENDS.includes(type) ? (type === 'call.finished' ? 'done' : 'failed') : stateOfRunning(call))
  const ending = type === 'call.failed' ? [ENDINGS[outcome] ?? outcome, status && `status ${status}`] : []
  const lasted = toSeconds(ENDS.includes(type) ? durationMs : Date.now() - Date.parse(startedAt))
  const first = firstByteMs === undefined ? null : `first byte after ${toSeconds(firstByteMs)}`
  const facts = [times.format(new Date(startedAt)), servedBy, dialect, lasted, first, ...ending]
  field('facts', row).textContent = facts.filter(Boolean).join(' · ')
  field('tokens', row).textContent = tokens ? withCost(toTokens(tokens), costNanoUsd) : ''
}

function stateOfRunning({ startedAt }) {
  return Date.now() - Date.parse(startedAt) < MAX_CALL_MS ? 'running' : 'unknown'
}

function showTimes({ calls }) {
  for (const call of calls.values()) showCall(call)
}

function showSums({ calls, ended, failed, input, output, cost }) {
  const running = [...calls.values()].filter((call) => stateOfRunning(call) === 'running').length
  field('no-calls').hidden = calls.size + ended > 0
  fieldOf('session', 'state').textContent = running > 0 ? `${toCount(running, 'call')} running` : 'No call is running'
  fieldOf('session', 'calls').textContent = toCalls(ended, failed)
  fieldOf('session', 'tokens').textContent = withCost(toTokens({ input, output }), cost)
}

// ---- words ------------------------------------------------------------------------------------------------------

const STATES = {
  running: ['Running', 'wait'],
  idle: ['Idle', 'plain'],
  done: ['Done', 'good'],
  failed: ['Failed', 'bad'],
  unknown: ['No end known', 'plain'],
}

/** How a failed call ended, by its outcome. An answer with an error is whole, and its status says the rest. */
const ENDINGS = {
  whole: '',
  cut: 'broken off',
  left: 'the caller left',
  ended: 'the access was ended',
  timeout: 'no answer in time',
  unreachable: 'the backend could not be reached',
}

function setState(row, state) {
  const [text, tone] = STATES[state]
  const badge = field('state', row)
  badge.textContent = text
  badge.className = `badge ${tone}`
}

function toCalls(ended, failed) {
  return `${toCount(ended, 'call')} ended${failed > 0 ? `, ${numbers.format(failed)} failed` : ''}`
}

function toTokens({ input, cached, output }) {
  const known = (count) => (count === undefined ? 'unknown' : numbers.format(count))
  const tokens = input === 1 ? 'token' : 'tokens'
  return `${known(input)} ${tokens} in${cached ? ` (${numbers.format(cached)} cached)` : ''}, ${known(output)} out`
}

const cents = new Intl.NumberFormat('en-US', { minimumFractionDigits: 2, maximumFractionDigits: 2 })
const underACent = new Intl.NumberFormat('en-US', { maximumSignificantDigits: 2 })

/** A cost is in 10^-9 USD, and undefined where it is not known. It is written as on the other pages. */
function withCost(text, nano) {
  if (nano === undefined) return text
  return `${text}, $${(nano > 0 && nano < 1e7 ? underACent : cents).format(nano / 1e9)}`
}

function toCount(count, word) {
  return `${numbers.format(count)} ${word}${count === 1 ? '' : 's'}`
}

function toSeconds(ms) {
  return `${(Math.max(0, ms) / 1000).toFixed(1)} s`
}

// ---- the page ---------------------------------------------------------------------------------------------------

function field(name, within = document) {
  return within.querySelector(`[data-field="${name}"]`)
}

function fieldOf(part, name) {
  return document.querySelector(`[data-part="${part}"] [data-field="${name}"]`)
}

function newRow(template) {
  return document.querySelector(`[data-template="${template}"]`).content.firstElementChild.cloneNode(true)
}

function showPart(part) {
  for (const element of document.querySelectorAll('[data-part]')) element.hidden = element.dataset.part !== part
}

/** Screen readers announce a change only. */
function say(text) {
  const status = field('status')
  if (status.textContent !== text) status.textContent = text
}

function sleep(ms, signal) {
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer)
      // A page that stays open sleeps thousands of times with one signal.
      signal.removeEventListener('abort', end)
      resolve()
    }
    const timer = setTimeout(end, ms)
    signal.addEventListener('abort', end)
  })
}

let shown = new AbortController()

function restart() {
  shown.abort()
  shown = new AbortController()
  say('Loading…')
  showPart('nothing')
  void show(shown.signal)
}

addEventListener('hashchange', restart)
restart()
