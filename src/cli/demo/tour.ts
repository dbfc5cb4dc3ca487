import { createClient, streamChatCompletion, streamMessage, streamResponse } from '../../sdk/index.ts'
import type { StartedDeviceLogin, SvcClient, TokenSet } from '../../sdk/index.ts'
import { OperatorError } from '../../kernel/operator-error.ts'

/** An email that the service has put into its outbox folder. */
export type OutboxEmail = { readonly link: string; readonly file: string }

type Needs = {
  readonly baseUrl: string
  readonly email: string
  /** The email that was sent last; null while there is none. */
  readonly lastEmail: () => OutboxEmail | null
  /** Prints text as it is, without a line end. */
  readonly print: (text: string) => void
}

/** A step of the tour failed. The message names the step and its answer. */
class TourError extends OperatorError {
  override readonly name = 'TourError'
}

const QUESTION = 'Hello from the demo, what do you say?'

/**
 * Logs in and calls a model through the real routes, and prints each step. Throws a `TourError` at the first step that
 * fails.
 */
export async function takeTour({ baseUrl, email, lastEmail, print }: Needs): Promise<TokenSet> {
  const client = createClient({ baseUrl })
  const show = steps(print)

  show.title('The service is ready')
  show.answer('GET /readyz', await client.GET('/readyz'))

  const login = await startLogin(client, email, show)
  await approve(client, lastEmail, show)
  const tokens = await fetchTokens(client, login, show)

  const caller = createClient({ baseUrl, accessToken: tokens.accessToken })
  await showTeam(caller, tokens.team, show)
  await callModel(caller, show, print)
  await refresh(client, tokens, show)
  return tokens
}

type Show = ReturnType<typeof steps>

async function startLogin(client: SvcClient, email: string, show: Show): Promise<StartedDeviceLogin> {
  show.title('A device asks to be logged in')
  const body = { email, deviceId: 'demo-device', deviceName: 'Demo device' }
  const login = show.answer(
    `POST /v1/auth/device/start  ${email}`,
    await client.POST('/v1/auth/device/start', { body }),
  )
  const early = await client.POST('/v1/auth/device/poll', { body: { deviceCode: login.deviceCode } })
  show.refusal('POST /v1/auth/device/poll', early, 428)
  return login
}

async function approve(client: SvcClient, lastEmail: Needs['lastEmail'], show: Show): Promise<void> {
  show.title('The person opens the link in the email and approves')
  const email = lastEmail()
  if (!email)
    throw new TourError('The demo reads its email from an outbox folder. Unset SVC_MAIL_URL and start it again.')
  show.note(`The email is ${email.file}. Its link:\n  ${email.link}`)
  const token = new URL(email.link).searchParams.get('token') ?? ''
  const page = await client.GET('/v1/auth/magic/consume', { params: { query: { token } }, parseAs: 'text' })
  show.status('GET /v1/auth/magic/consume  (shows the page and changes nothing)', page.response)
  show.answer('POST /v1/auth/magic/consume', await client.POST('/v1/auth/magic/consume', { body: { token } }))
}

async function fetchTokens(client: SvcClient, { deviceCode }: StartedDeviceLogin, show: Show): Promise<TokenSet> {
  show.title('The device gets its tokens')
  return show.answer('POST /v1/auth/device/poll', await client.POST('/v1/auth/device/poll', { body: { deviceCode } }))
}

async function showTeam(caller: SvcClient, team: string, show: Show): Promise<void> {
  show.title('What the team may use')
  show.answer(
    `GET /v1/teams/${encodeURIComponent(team)}`,
    await caller.GET('/v1/teams/{team}', { params: { path: { team } } }),
  )
  const models = show.answer('GET /v1/models', await caller.GET('/v1/models'), () => undefined)
  show.note(models.data.map(({ id, metadata }) => `${id} (${metadata.displayName})`).join(', '))
  const { workers } = show.answer('GET /v1/workers', await caller.GET('/v1/workers'), () => undefined)
  show.note(workers.map(({ id, state }) => `${id} is ${state}`).join(', '))
}

async function callModel(caller: SvcClient, show: Show, print: Needs['print']): Promise<void> {
  show.title('A model answers, then streams in each dialect')
  const messages = [{ role: 'user', content: QUESTION }]
  const whole = await caller.POST('/v1/chat/completions', { body: { messages } })
  const completion = show.answer(`POST /v1/chat/completions  "${QUESTION}"`, whole, () => undefined)
  show.note(completion.choices[0]?.message.content ?? '')

  for (const [request, words] of streams(caller)) {
    print(`> POST ${request}  "stream": true\n`)
    await printWords(request, words, print)
  }
}

/** The same question in the three dialects. Each stream gives its words as they arrive. */
function streams(caller: SvcClient): readonly (readonly [request: string, words: AsyncIterable<string>])[] {
  const messages = [{ role: 'user', content: QUESTION }]
  return [
    [
      '/v1/chat/completions',
      wordsOf(streamChatCompletion(caller, { messages }), (chunk) => chunk.choices[0]?.delta.content),
    ],
    [
      '/v1/responses',
      wordsOf(
        streamResponse(caller, { input: QUESTION }),
        ({ type, delta }) => type === 'response.output_text.delta' && delta,
      ),
    ],
    [
      '/vendorb/v1/messages',
      wordsOf(streamMessage(caller, { max_tokens: 256, messages }), ({ delta }) => delta?.['text']),
    ],
  ]
}

async function* wordsOf<Event>(events: AsyncIterable<Event>, pick: (event: Event) => unknown): AsyncIterable<string> {
  for await (const event of events) {
    const word = pick(event)
    if (typeof word === 'string') yield word
  }
}

async function printWords(request: string, words: AsyncIterable<string>, print: Needs['print']): Promise<void> {
  let count = 0
  try {
    for await (const word of words) {
      // A stream that has begun was answered with 200; every other status throws.
      if (count === 0) print('< 200\n  ')
      count += 1
      print(word)
    }
  } catch (error) {
    throw new TourError(`The stream of ${request} was cut off: ${String(error)}`)
  }
  print('\n')
  if (count === 0) throw new TourError(`The stream of ${request} had no text.`)
}

async function refresh(client: SvcClient, { account, refreshToken }: TokenSet, show: Show): Promise<void> {
  show.title('The device gets its next tokens')
  show.answer(
    'POST /v1/auth/token/refresh',
    await client.POST('/v1/auth/token/refresh', { body: { account, refreshToken } }),
  )
}

type Result<Data> = { readonly data?: Data; readonly error?: unknown; readonly response: Response }

/** Prints the request, the status and the answer of each step. Shortens secrets. */
function steps(print: Needs['print']) {
  const status = (request: string, { status: code }: Response) => print(`> ${request}\n< ${code}\n`)
  return {
    title: (title: string) => print(`\n${title}\n${'-'.repeat(title.length)}\n`),
    note: (text: string) => print(`  ${text}\n`),
    status(request: string, response: Response): void {
      status(request, response)
      if (!response.ok) throw new TourError(`${request} answered ${response.status}.`)
    },
    answer<Data>(
      request: string,
      { data, error, response }: Result<Data>,
      pick: (data: Data) => unknown = (all) => all,
    ): Data {
      status(request, response)
      if (data === undefined) throw new TourError(`${request} answered ${response.status}: ${JSON.stringify(error)}`)
      const shown = pick(data)
      if (shown !== undefined) print(`${indent(JSON.stringify(shown, shorten, 2))}\n`)
      return data
    },
    refusal(request: string, { error, response }: Result<unknown>, expected: number): void {
      status(request, response)
      if (response.status !== expected) throw new TourError(`${request} answered ${response.status}, not ${expected}.`)
      print(`${indent(JSON.stringify(error, null, 2))}\n`)
    },
  }
}

function shorten(key: string, value: unknown): unknown {
  const isSecret = ['deviceCode', 'accessToken', 'refreshToken'].includes(key) && typeof value === 'string'
  return isSecret ? `${value.slice(0, 14)}...` : value
}

function indent(text: string): string {
  return text.replaceAll(/^/gm, '  ')
}
