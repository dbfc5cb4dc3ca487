import { answersJson, completionOf, startUpstream } from './upstream.ts'
import type { Script, SeenCall, TestUpstream } from './upstream.ts'

/** An inference server on loopback that speaks only the chat dialect. */
export type TestEngine = TestUpstream & {
  /** The models that it lists, unless `listing` is set. */
  models: string[]
  /** Replaces the answer to `GET /v1/models`. */
  listing: Script | null
  /** Replaces the answer to chat completions. */
  chat: Script | null
  /** The scripts of other paths, by path, such as `/v1/messages`. */
  routes: Record<string, Script>
  /** The script of all remaining paths; 404 by default. */
  elsewhere: Script
  /** The number of requests for the list of models. */
  probes(): number
  /** The last chat completion; throws when there was none. */
  lastChat(): SeenCall
}

/**
 * Starts an engine that lists these models and answers each chat completion with a greeting, whole or as a stream as
 * the request asks.
 */
export async function startEngine(models: string[] = ['qwen3:8b']): Promise<TestEngine> {
  const upstream = await startUpstream((call) => {
    const path = call.url.split('?')[0] ?? ''
    if (path.endsWith('/v1/models')) return (engine.listing ?? lists(engine.models))(call)
    if (path.endsWith('/v1/chat/completions')) return (engine.chat ?? greets)(call)
    return (engine.routes[path] ?? engine.elsewhere)(call)
  })
  const engine: TestEngine = Object.assign(upstream, {
    models,
    listing: null,
    chat: null,
    routes: {},
    elsewhere: answersJson({ error: { message: 'not found' } }, { status: 404 }),
    probes: () => upstream.calls.filter(({ url }) => url.endsWith('/v1/models')).length,
    lastChat() {
      const call = upstream.calls.findLast(({ url }) => url.endsWith('/v1/chat/completions'))
      if (!call) throw new Error('The engine has received no chat completion.')
      return call
    },
  })
  return engine
}

/** Answers with a list of models in the form that common servers use. */
export function lists(models: readonly string[]): Script {
  const data = models.map((id) => ({ id, object: 'model', created: 1, owned_by: 'library' }))
  return answersJson({ object: 'list', data })
}

const greets: Script = (call) => {
  const { body, res } = call
  const { model, stream } = JSON.parse(body.toString()) as { model: string; stream?: boolean }
  if (!stream) {
    const { usage: _usage, ...answer } = completionOf(model)
    return answersJson(answer)(call)
  }
  res.writeHead(200, { 'content-type': 'text/event-stream' })
  for (const event of greeting(model)) res.write(event)
  res.end()
}

/** The events of a short chat completion stream. */
function greeting(model: string): string[] {
  const chunk = (delta: object, finish_reason: string | null = null) =>
    `data: ${JSON.stringify({ id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1, model, choices: [{ index: 0, delta, finish_reason }] })}\n\n`
  return [
    chunk({ role: 'assistant', content: 'Hel' }),
    chunk({ content: 'lo!' }),
    chunk({}, 'stop'),
    'data: [DONE]\n\n',
  ]
}
