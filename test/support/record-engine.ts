/**
 * Records what llama-server really answers, for the fixtures of the translations:
 *
 *   node test/support/record-engine.ts llama-server
 *
 * What stands behind the script is how to start the server; options are added to it. Each file is the head of an answer as it came, and its body
 * without the transfer coding. The model is scripted-model.ts, so nothing is downloaded.
 */
import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import type { IncomingMessage } from 'node:http'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { beginWith, scriptedModel } from './scripted-model.ts'
import type { Saying } from './scripted-model.ts'

const FIXTURES = new URL('../translate/fixtures/llama-server/', import.meta.url)
const PORT = 18_950

type Question = { readonly path: string; readonly body?: unknown }

/** The files to record from a server whose model says this. */
type Session = {
  readonly saying: Saying
  readonly questions: Readonly<Record<string, Question>>
}

const HI = [{ role: 'user', content: 'hi' }]
const PIXEL = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='

const TOOLS = [
  { name: 'get_weather', properties: { city: { type: 'string' }, days: { type: 'integer' } } },
  { name: 'read_file', properties: { path: { type: 'string' } } },
].map(({ name, properties }) => ({
  name,
  description: '',
  schema: { type: 'object', properties, required: Object.keys(properties) },
}))
const CHAT_TOOLS = TOOLS.map(({ schema: parameters, ...tool }) => ({
  type: 'function',
  function: { ...tool, parameters },
}))
const RESPONSES_TOOLS = TOOLS.map(({ schema: parameters, ...tool }) => ({ type: 'function', ...tool, parameters }))
const MESSAGES_TOOLS = TOOLS.map(({ schema: input_schema, ...tool }) => ({ ...tool, input_schema }))

const chat = (more: object = {}): Question => ({ path: '/v1/chat/completions', body: { messages: HI, ...more } })
const messages = (more: object = {}): Question => ({
  path: '/v1/messages',
  body: { messages: HI, max_tokens: 50, ...more },
})
const responses = (more: object = {}): Question => ({ path: '/v1/responses', body: { input: 'hi', ...more } })

const STREAM = { stream: true }
const WITH_USAGE = { stream: true, stream_options: { include_usage: true } }

const image = (type: string, image: object) => [{ role: 'user', content: [{ type, ...image }] }]
const CHAT_IMAGE = image('image_url', { image_url: { url: `data:image/png;base64,${PIXEL}` } })
const MESSAGES_IMAGE = image('image', { source: { type: 'base64', media_type: 'image/png', data: PIXEL } })
const RESPONSES_IMAGE = image('input_image', { image_url: `data:image/png;base64,${PIXEL}` })

const TOO_LONG = 'qz'.repeat(800)
/** So long that two answers soon fill what both have to share. */
const NEARLY_TOO_LONG = [{ role: 'user', content: 'q'.repeat(98) }]

const SESSIONS: readonly Session[] = [
  {
    saying: 'hello',
    questions: {
      models: { path: '/v1/models' },
      health: { path: '/health' },
      'chat-text': chat(),
      'chat-text-stream': chat(STREAM),
      'chat-required-tool': chat({ tools: CHAT_TOOLS, tool_choice: 'required' }),
      'chat-chosen-tool': chat({
        tools: CHAT_TOOLS,
        tool_choice: { type: 'function', function: { name: 'get_weather' } },
      }),
      'chat-image-refused': chat({ messages: CHAT_IMAGE }),
      'chat-bad-request': chat({ messages: 'hi' }),
      'chat-too-long': chat({ messages: [{ role: 'user', content: TOO_LONG }] }),
      'chat-too-long-stream': chat({ messages: [{ role: 'user', content: TOO_LONG }], ...STREAM }),
      'messages-text': messages(),
      'messages-impossible-tool': messages({
        max_tokens: 1,
        tools: MESSAGES_TOOLS,
        tool_choice: { type: 'tool', name: 'another' },
      }),
      'messages-image-refused': messages({ messages: MESSAGES_IMAGE }),
      'messages-bad-request': messages({ messages: undefined }),
      'messages-too-long': messages({ messages: [{ role: 'user', content: TOO_LONG }] }),
      'messages-count-tokens': { path: '/v1/messages/count_tokens', body: { messages: HI } },
      'responses-text': responses(),
      'responses-image-refused': responses({ input: RESPONSES_IMAGE }),
      'responses-too-long': responses({ input: TOO_LONG }),
      'responses-previous-response': responses({ previous_response_id: 'resp_00000000000000000000000000000000' }),
      'responses-custom-tool-call': responses({
        input: [
          ...HI,
          { type: 'custom_tool_call', call_id: 'call_1', name: 'apply_patch', input: '*** Begin Patch' },
          { type: 'custom_tool_call_output', call_id: 'call_1', output: 'Done!' },
        ],
      }),
      'completions-text': { path: '/v1/completions', body: { prompt: 'hi', max_tokens: 3 } },
      'embeddings-not-supported': { path: '/v1/embeddings', body: { input: 'hi' } },
      'unknown-route': { path: '/v1/unknown', body: {} },
    },
  },
  {
    saying: 'greeting',
    questions: {
      'chat-greeting-stream': chat(WITH_USAGE),
      'chat-cut': chat({ max_tokens: 3 }),
      'chat-cut-stream': chat({ max_tokens: 3, ...WITH_USAGE }),
      'messages-greeting-stream': messages(STREAM),
      'messages-cut-stream': messages({ max_tokens: 3, ...STREAM }),
      'responses-greeting-stream': responses(STREAM),
      'responses-cut': responses({ max_output_tokens: 3 }),
      'responses-cut-stream': responses({ max_output_tokens: 3, ...STREAM }),
    },
  },
  {
    saying: 'sequence',
    questions: {
      'chat-stop-sequence-stream': chat({ stop: [' END'], ...WITH_USAGE }),
      'messages-stop-sequence': messages({ stop_sequences: [' END'] }),
      'messages-stop-sequence-stream': messages({ stop_sequences: [' END'], ...STREAM }),
    },
  },
  {
    saying: 'thought',
    questions: {
      'chat-thought': chat(),
      'chat-thought-stream': chat(WITH_USAGE),
      'messages-thought': messages(),
      'messages-thought-stream': messages(STREAM),
      'responses-thought': responses(),
      'responses-thought-stream': responses(STREAM),
    },
  },
  {
    saying: 'call',
    questions: {
      'chat-call': chat({ tools: CHAT_TOOLS }),
      'chat-call-stream': chat({ tools: CHAT_TOOLS, ...WITH_USAGE }),
      'chat-call-cut-stream': chat({ tools: CHAT_TOOLS, max_tokens: 6, ...WITH_USAGE }),
      'messages-call-cut-stream': messages({ tools: MESSAGES_TOOLS, max_tokens: 6, ...STREAM }),
      'responses-call-cut-stream': responses({ tools: RESPONSES_TOOLS, max_output_tokens: 6, ...STREAM }),
    },
  },
  {
    saying: 'plan',
    questions: {
      'chat-plan-stream': chat({ tools: CHAT_TOOLS, ...WITH_USAGE }),
      'messages-plan-stream': messages({ tools: MESSAGES_TOOLS, ...STREAM }),
      'responses-plan-stream': responses({ tools: RESPONSES_TOOLS, ...STREAM }),
    },
  },
  {
    saying: 'calls',
    questions: {
      'chat-calls': chat({ tools: CHAT_TOOLS }),
      'chat-calls-stream': chat({ tools: CHAT_TOOLS, ...WITH_USAGE }),
      'messages-calls': messages({ tools: MESSAGES_TOOLS }),
      'messages-calls-stream': messages({ tools: MESSAGES_TOOLS, ...STREAM }),
      'responses-calls': responses({ tools: RESPONSES_TOOLS }),
      'responses-calls-stream': responses({ tools: RESPONSES_TOOLS, ...STREAM }),
    },
  },
]

const command = process.argv.slice(2)
if (command.length === 0) throw new Error('Say how llama-server is started.')
const folder = mkdtempSync(path.join(tmpdir(), 'scripted-model-'))
const model = path.join(folder, 'scripted.gguf')
writeFileSync(model, scriptedModel())
const ONE_MODEL = ['--model', model, '--alias', 'scripted,the-same']
mkdirSync(FIXTURES, { recursive: true })
try {
  await recordLoading()
  for (const { saying, questions } of SESSIONS) {
    await using server = await start(saying, ['--ctx-size', '1024', '--parallel', '1'])
    await server.ready()
    for (const [name, question] of Object.entries(questions)) save(name, await ask(question))
  }
  await recordUnknownModel()
  await recordFailures()
  await recordDeath()
} finally {
  rmSync(folder, { recursive: true })
}

/** The moment between listening and having the model; a large context makes it long enough. */
async function recordLoading(): Promise<void> {
  await using _server = await start('hello', ['--ctx-size', '131072'])
  const asked = Object.entries({
    'health-loading': { path: '/health' },
    'models-loading': { path: '/v1/models' },
    'chat-loading': chat(),
  })
  for (;;) {
    const answers = await Promise.all(asked.map(([, question]) => ask(question).catch(() => null)))
    if (answers.every((answer) => answer?.status === 503)) {
      answers.forEach((answer, at) => answer && save(asked[at]?.[0] ?? '', answer))
      return
    }
    if (answers.some((answer) => answer?.status === 200)) throw new Error('It was loaded too fast. Try again.')
  }
}

/** A server of several models knows what it has not got. */
async function recordUnknownModel(): Promise<void> {
  await using server = await start('hello', [], ['--models-dir', folder])
  await server.ready()
  save('chat-unknown-model', await ask(chat({ model: 'unknown' })))
}

/** Two answers that do not end fill the memory that they share, and one of them fails in the middle. */
async function recordFailures(): Promise<void> {
  const full = { messages: NEARLY_TOO_LONG, max_tokens: 200, ...STREAM }
  const questions = {
    'chat-failed-stream': chat(full),
    'messages-failed-stream': messages(full),
    'responses-failed-stream': responses({ input: NEARLY_TOO_LONG, ...STREAM }),
  }
  for (const [name, question] of Object.entries(questions)) {
    await using server = await start('endless', ['--ctx-size', '256', '--parallel', '2', '--kv-unified'])
    await server.ready()
    const [answer] = await Promise.all([ask(question), ask(question)])
    save(name, answer)
  }
}

/** The process is killed while it answers. */
async function recordDeath(): Promise<void> {
  await using server = await start('endless', ['--ctx-size', '100000', '--parallel', '1'])
  await server.ready()
  save('chat-died-stream', await ask(chat(STREAM), () => server.process.kill('SIGKILL')))
}

type Server = AsyncDisposable & { readonly process: ChildProcess; ready(): Promise<void> }

async function start(saying: Saying, options: readonly string[], models = ONE_MODEL): Promise<Server> {
  const [program = '', ...given] = command
  const fixed = [...models, '--port', String(PORT), '--threads', '1']
  const begin = saying === 'hello' ? [] : beginWith(saying)
  const child = spawn(program, [...given, ...fixed, ...begin, ...options], { stdio: 'ignore' })
  const exited = once(child, 'exit')
  return {
    process: child,
    async ready() {
      while ((await ask({ path: '/health' }).catch(() => null))?.status !== 200) {
        if (child.exitCode !== null) throw new Error('The server has ended.')
        await sleep(50)
      }
    },
    async [Symbol.asyncDispose]() {
      child.kill('SIGKILL')
      await exited
    },
  }
}

type Answer = { readonly status: number; readonly head: string; readonly body: Buffer }

/** `onBytes` is called with the first bytes of the body. An answer that is cut off ends where it was cut off. */
async function ask({ path, body }: Question, onBytes: () => void = () => {}): Promise<Answer> {
  const sent = body === undefined ? undefined : JSON.stringify(body)
  // As a pool of connections asks, so that the head says what it says to one.
  const headers = { 'content-type': 'application/json', connection: 'keep-alive' }
  const asking = request({ port: PORT, path, method: sent === undefined ? 'GET' : 'POST', headers, agent: false })
  asking.end(sent)
  // The events of Node's own client are untyped.
  const [res] = (await once(asking, 'response')) as [IncomingMessage]
  res.once('data', onBytes)
  const chunks: Buffer[] = []
  res.on('data', (chunk: Buffer) => chunks.push(chunk))
  await once(res, 'close').catch(() => {})
  return { status: res.statusCode ?? 0, head: headOf(res), body: Buffer.concat(chunks) }
}

function headOf({ httpVersion, statusCode, statusMessage, rawHeaders }: IncomingMessage): string {
  const lines = rawHeaders.flatMap((name, at) => (at % 2 === 0 ? [`${name}: ${rawHeaders[at + 1] ?? ''}\r\n`] : []))
  return `HTTP/${httpVersion} ${String(statusCode)} ${statusMessage ?? ''}\r\n${lines.join('')}\r\n`
}

function save(name: string, { head, body }: Answer): void {
  writeFileSync(new URL(`${name}.http`, FIXTURES), Buffer.concat([Buffer.from(head), body]))
}
