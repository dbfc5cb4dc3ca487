import { createClient, streamChatCompletion, streamMessage, streamResponse } from '../../sdk/index.ts'
import type { StartedDeviceLogin, SvcClient, TokenSet } from '../../sdk/index.ts'

type Needs = {
  readonly baseUrl: string
  readonly email: string
  /** Where the mails are. */
  readonly outbox: string
  /** Prints text as it is, without a line end. */
  readonly print: (text: string) => void
}

/** A step that did not work; the message says which one and what came back. */
export class TourError extends Error {
  override readonly name = 'TourError'
}

const QUESTION = 'Hello from the demo, what do you say?'

/** Walks a login and a call through the real routes and shows each step. Throws a `TourError` at the first one that fails. */
export async function takeTour({ baseUrl, email, outbox, print }: Needs): Promise<TokenSet> {
  const client = createClient({ baseUrl })
  const show = steps(print)

  show.title('Is it up?')
  show.answer('GET /readyz', await client.GET('/readyz'))

  const login = await startLogin(client, email, show)
  await approve(client, login, outbox, show)
  const tokens = await fetchTokens(client, login, show)

  const caller = createClient({ baseUrl, accessToken: tokens.accessToken })
  await lookAround(caller, tokens.team, show)
  await callModel(caller, show, print)
  await refresh(client, tokens, show)
  return tokens
}

type Show = ReturnType<typeof steps>

async function startLogin(client: SvcClient, email: string, show: Show): Promise<StartedDeviceLogin> {
  show.title('A device starts to log in')
  const body = { email, deviceId: 'demo-device', deviceName: 'Demo device' }
  const login = show.answer(
    `POST /v1/auth/device/start  ${email}`,
    await client.POST('/v1/auth/device/start', { body }),
  )
  const early = await client.POST('/v1/auth/device/poll', { body: { deviceCode: login.deviceCode } })
  show.refusal('POST /v1/auth/device/poll', early, 428)
  return login
}

async function approve(client: SvcClient, login: StartedDeviceLogin, outbox: string, show: Show): Promise<void> {
  show.title('A person opens the link of the mail and approves')
  show.note(`The mail is in ${outbox}; this is its link:\n  ${login.verificationUri}`)
  const token = new URL(login.verificationUri).searchParams.get('token') ?? ''
  const page = await client.GET('/v1/auth/magic/consume', { params: { query: { token } }, parseAs: 'text' })
  show.status('GET /v1/auth/magic/consume  (the page; it changes nothing)', page.response)
  show.answer('POST /v1/auth/magic/consume', await client.POST('/v1/auth/magic/consume', { body: { token } }))
}

async function fetchTokens(client: SvcClient, { deviceCode }: StartedDeviceLogin, show: Show): Promise<TokenSet> {
  show.title('The device gets its tokens')
  return show.answer('POST /v1/auth/device/poll', await client.POST('/v1/auth/device/poll', { body: { deviceCode } }))
}

async function lookAround(caller: SvcClient, team: string, show: Show): Promise<void> {
  show.title('What it may use')
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
  show.title('A model answers: whole, then streamed in each style')
  const messages = [{ role: 'user', content: QUESTION }]
  const whole = await caller.POST('/v1/chat/completions', { body: { messages } })
  const completion = show.answer(`POST /v1/chat/completions  "${QUESTION}"`, whole, () => undefined)
  show.note(completion.choices[0]?.message.content ?? '')

  for (const [request, words] of streams(caller)) {
    print(`> POST ${request}  "stream": true\n< `)
    await printWords(request, words, print)
  }
}

/** The same question in the three styles; each gives its words as they come. */
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
      count += 1
      print(word)
    }
  } catch (error) {
    throw new TourError(`The stream of ${request} broke: ${String(error)}`)
  }
  print('\n')
  if (count === 0) throw new TourError(`The stream of ${request} had no words.`)
}

async function refresh(client: SvcClient, { account, refreshToken }: TokenSet, show: Show): Promise<void> {
  show.title('Later: the next pair of tokens')
  show.answer(
    'POST /v1/auth/token/refresh',
    await client.POST('/v1/auth/token/refresh', { body: { account, refreshToken } }),
  )
}

type Result<Data> = { readonly data?: Data; readonly error?: unknown; readonly response: Response }

/** Prints steps: the request, the status, what came back. Secrets are cut short. */
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
