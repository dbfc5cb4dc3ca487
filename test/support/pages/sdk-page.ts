// Runs in a page of a browser. `bundleSdkPage` bundles it into one script, together with the vendors' npm packages.
import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import { createClient } from '../../../generated/sdk/index.js'

/** The address of a deployment, and an access token for it. */
export type Given = { readonly origin: string; readonly token: string }

const MODEL = 'svc/fast'
const MESSAGES = [{ role: 'user' as const, content: 'Hello' }]
const BROWSER = { dangerouslyAllowBrowser: true, maxRetries: 0 }

const NOT_REACHED = [OpenAI.APIConnectionError, Anthropic.APIConnectionError, TypeError]

/** Makes each call with each package; returns one line per call: its result, or why it failed. */
export async function callAll(given: Given): Promise<Record<string, string>> {
  const calls = { ...openaiCalls(given), ...anthropicCalls(given), ...ownCalls(given) }
  const answers = Object.entries(calls).map(async ([name, call]): Promise<[string, string]> => {
    return [name, await call().catch(describe)]
  })
  return Object.fromEntries(await Promise.all(answers))
}

function describe(error: unknown): string {
  return NOT_REACHED.some((kind) => error instanceof kind) ? 'not reached' : String(error)
}

function openaiCalls({ origin, token }: Given) {
  // A header that the package does not send by itself; users and later versions may add some.
  const defaultHeaders = { 'X-Session-Id': 'run-1' }
  const client = new OpenAI({ baseURL: `${origin}/v1`, apiKey: token, defaultHeaders, ...BROWSER })
  const body = { model: MODEL, messages: MESSAGES }
  return {
    'openai: a stream': async () => {
      const {
        data,
        response,
        request_id: id,
      } = await client.chat.completions.create({ ...body, stream: true }).withResponse()
      let text = ''
      for await (const chunk of data) text += chunk.choices[0]?.delta.content ?? ''
      return `${text} by ${response.headers.get('x-svc-served-by')} as ${shorten(id)}`
    },
    'openai: its helper for streams': async () => `${await client.chat.completions.stream(body).finalContent()}`,
    'openai: models': async () => (await client.models.list()).data.map(({ id }) => id).join(),
    'openai: a refusal': async () => {
      const refused = client.chat.completions.create({ ...body, model: 'nobody/none' })
      const error = await refused.catch((thrown: unknown) => thrown)
      if (!(error instanceof OpenAI.PermissionDeniedError)) throw error
      return `${error.status} retry ${error.headers.get('x-should-retry')} as ${shorten(error.requestID)}`
    },
  }
}

function anthropicCalls({ origin, token }: Given) {
  const baseURL = `${origin}/vendorb`
  const client = new Anthropic({ baseURL, authToken: token, apiKey: null, ...BROWSER })
  const withKey = new Anthropic({ baseURL, apiKey: token, authToken: null, ...BROWSER })
  return {
    'anthropic: a stream': async () => {
      const stream = client.messages.stream({ model: MODEL, max_tokens: 64, messages: MESSAGES })
      return `${await stream.finalText()} as ${shorten(stream.request_id)}`
    },
    'anthropic: models, by key': async () => (await withKey.models.list()).data.map(({ id }) => id).join(),
  }
}

function ownCalls({ origin, token }: Given) {
  const client = createClient({ baseUrl: origin, accessToken: token, retries: 0 })
  return {
    'ours: a call of a session': async () => {
      const { data, response } = await client.POST('/v1/chat/completions', {
        params: { header: { 'X-Svc-Session-Id': 'run-1' } },
        body: { model: MODEL, messages: MESSAGES },
      })
      return `${JSON.stringify(data).includes('Hello!')} as ${shorten(response.headers.get('x-request-id'))}`
    },
  }
}

/** The prefix of an id, which is the same in each run. */
function shorten(id: string | null | undefined): string {
  return String(id).slice(0, 4)
}
