/**
 * Records the answers of a real llama-server, as fixtures for the tests of translations:
 *
 *   node test/support/record-engine.ts llama-server
 *
 * The arguments are the command that starts the server; the script adds options. Each file has the head of an answer as
 * it was received, and its body without the transfer coding. The model comes from scripted-model.ts, so nothing is
 * downloaded.
 */
import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import type { IncomingMessage } from 'node:http'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { startOption, scriptedModel } from './scripted/scripted-model.ts'
import type { ScriptName } from './scripted/scripted-model.ts'
import { waitUntil } from './wait.ts'

const FIXTURES = new URL('../translate/fixtures/llama-server/', import.meta.url)
const PORT = 18_950

type Question = { readonly path: string; readonly body?: unknown }

/** The files to record from a server whose model produces this output. */
type Session = {
  readonly script: ScriptName
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
/** A prompt so long that two answers soon fill the context that they share. */
const NEARLY_TOO_LONG = [{ role: 'user', content: 'q'.repeat(98) }]

const SESSIONS: readonly Session[] = [
  {
    script: 'hello',
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
    script: 'greeting',
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
    script: 'sequence',
    questions: {
      'chat-stop-sequence-stream': chat({ stop: [' END'], ...WITH_USAGE }),
      'messages-stop-sequence': messages({ stop_sequences: [' END'] }),
      'messages-stop-sequence-stream': messages({ stop_sequences: [' END'], ...STREAM }),
    },
  },
  {
    script: 'thought',
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
    script: 'call',
    questions: {
      'chat-call': chat({ tools: CHAT_TOOLS }),
      'chat-call-stream': chat({ tools: CHAT_TOOLS, ...WITH_USAGE }),
      'chat-call-cut-stream': chat({ tools: CHAT_TOOLS, max_tokens: 6, ...WITH_USAGE }),
      'messages-call-cut-stream': messages({ tools: MESSAGES_TOOLS, max_tokens: 6, ...STREAM }),
      'responses-call-cut-stream': responses({ tools: RESPONSES_TOOLS, max_output_tokens: 6, ...STREAM }),
    },
  },
  {
    script: 'plan',
    questions: {
      'chat-plan-stream': chat({ tools: CHAT_TOOLS, ...WITH_USAGE }),
      'messages-plan-stream': messages({ tools: MESSAGES_TOOLS, ...STREAM }),
      'responses-plan-stream': responses({ tools: RESPONSES_TOOLS, ...STREAM }),
    },
  },
  {
    script: 'calls',
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
if (command.length === 0) throw new Error('Give the command that starts llama-server as arguments.')
const folder = mkdtempSync(path.join(tmpdir(), 'scripted-model-'))
const model = path.join(folder, 'scripted.gguf')
writeFileSync(model, scriptedModel())
const ONE_MODEL = ['--model', model, '--alias', 'scripted,the-same']
mkdirSync(FIXTURES, { recursive: true })
try {
  await recordLoading()
  for (const { script, questions } of SESSIONS) {
    await using server = await start(script, ['--ctx-size', '1024', '--parallel', '1'])
    await server.ready()
    for (const [name, question] of Object.entries(questions)) save(name, await ask(question))
  }
  await recordUnknownModel()
  await recordFailures()
  await recordDeath()
} finally {
  rmSync(folder, { recursive: true })
}

/** Records the time between listening and having loaded the model; a large context makes it long enough. */
async function recordLoading(): Promise<void> {
  await using _server = await start('hello', ['--ctx-size', '131072'])
  const asked = Object.entries({
    'health-loading': { path: '/health' },
    'models-loading': { path: '/v1/models' },
    'chat-loading': chat(),
  })
  const answers = await waitUntil(
    'llama-server to listen',
    () => Promise.all(asked.map(async ([name, question]) => ({ name, ...(await ask(question)) }))),
    (seen) => seen.every(({ status }) => status === 503) || seen.some(({ status }) => status === 200),
    { intervalMs: 1 },
  )
  if (answers.some(({ status }) => status === 200))
    throw new Error('The model was loaded before all answers were recorded. Try again.')
  for (const answer of answers) save(answer.name, answer)
}

/** Only a server of several models refuses an unknown model. */
async function recordUnknownModel(): Promise<void> {
  await using server = await start('hello', [], ['--models-dir', folder])
  await server.ready()
  save('chat-unknown-model', await ask(chat({ model: 'unknown' })))
}

/** Two endless answers fill the context that they share, and one of them fails in the middle. */
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

/** Kills the process while it answers. */
async function recordDeath(): Promise<void> {
  await using server = await start('endless', ['--ctx-size', '100000', '--parallel', '1'])
  await server.ready()
  save('chat-died-stream', await ask(chat(STREAM), () => server.process.kill('SIGKILL')))
}

type Server = AsyncDisposable & { readonly process: ChildProcess; ready(): Promise<void> }

async function start(script: ScriptName, options: readonly string[], models = ONE_MODEL): Promise<Server> {
  const [program = '', ...given] = command
  const fixed = [...models, '--port', String(PORT), '--threads', '1']
  const begin = script === 'hello' ? [] : startOption(script)
  const child = spawn(program, [...given, ...fixed, ...begin, ...options], { stdio: 'ignore' })
  const exited = once(child, 'exit')
  return {
    process: child,
    async ready() {
      const health = async () => (child.exitCode === null ? (await ask({ path: '/health' })).status : 'ended')
      const status = await waitUntil('llama-server to be healthy', health, (seen) => seen === 200 || seen === 'ended')
      if (status === 'ended') throw new Error(`llama-server ended with ${String(child.exitCode)}.`)
    },
    async [Symbol.asyncDispose]() {
      child.kill('SIGKILL')
      await exited
    },
  }
}

type Answer = { readonly status: number; readonly head: string; readonly body: Buffer }

/**
 * Sends a request. `onBytes` is called with the first bytes of the body. The body of an answer that breaks off is what
 * was received.
 */
async function ask({ path, body }: Question, onBytes: () => void = () => {}): Promise<Answer> {
  const sent = body === undefined ? undefined : JSON.stringify(body)
  // As a connection pool sends it, so that the head is the one that a pool receives.
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
