/** The packages of the vendors over a backend of each dialect: whole answers, streams and tools. */
import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { DIALECT_NAMES } from '../../src/kernel/dialect.ts'
import { startGateway, TOKEN } from '../support/gateway.ts'
import type { TestGateway } from '../support/gateway.ts'
import { serveEntry, servedModel } from '../support/served-models.ts'
import { startUpstream } from '../support/upstream.ts'
import type { TestUpstream } from '../support/upstream.ts'
import { ALL_WEATHER, WEATHER, weatherOf } from './agent-engine.ts'
import { watchedFetch } from './serving.ts'
import { weatherVendor } from './weather-servers.ts'

const MODES = ['whole', 'streamed'] as const
type Mode = (typeof MODES)[number]

let servers: TestUpstream[]
let gateway: TestGateway
const violations: string[] = []
const watched = watchedFetch(violations)

beforeAll(async () => {
  servers = await Promise.all(DIALECT_NAMES.map((dialect) => startUpstream(weatherVendor(dialect))))
  gateway = await startGateway({
    backends: DIALECT_NAMES.map((dialect, at) => {
      return {
        name: `b-${dialect}`,
        dialects: [dialect],
        url: servers[at]?.url.href ?? null,
        basePath: '/v1',
        credential: null,
      }
    }),
    team: {
      models: DIALECT_NAMES.map((dialect) => {
        return servedModel(`any/${dialect}`, { serve: [serveEntry(`b-${dialect}`, 'm')] })
      }),
    },
  })
})

afterAll(async () => {
  await gateway[Symbol.asyncDispose]()
  await Promise.all(servers.map((server) => server[Symbol.asyncDispose]()))
  await watched.settled()
  expect(violations).toEqual([])
})

const openai = () => new OpenAI({ apiKey: TOKEN, baseURL: `${gateway.url}/v1`, fetch: watched.fetch })
const anthropic = () => {
  const credential = { apiKey: null, authToken: TOKEN }
  return new Anthropic({ ...credential, baseURL: `${gateway.url}/vendorb`, fetch: watched.fetch })
}

/** An agent that asks for the weather. Each turn returns the calls of the model; a text ends the loop. */
type Agent = { readonly take: () => Promise<{ text: string; calls: readonly unknown[]; answer: () => void }> }

function chatAgent(model: string, mode: Mode, hasTools: boolean): Agent {
  const messages: OpenAI.ChatCompletionMessageParam[] = [{ role: 'user', content: 'The weather?' }]
  return {
    async take() {
      const tools = hasTools ? { tools: [{ type: 'function' as const, function: WEATHER }] } : {}
      const request = { model, messages, ...tools }
      const { chat } = openai()
      const completion =
        mode === 'whole'
          ? await chat.completions.create(request)
          : await chat.completions.stream(request).finalChatCompletion()
      const message = completion.choices[0]?.message
      const calls = message?.tool_calls ?? []
      return {
        text: message?.content ?? '',
        calls,
        answer() {
          if (message) messages.push(message)
          for (const call of calls) {
            if (call.type !== 'function') throw new Error('Only functions were offered.')
            messages.push({ role: 'tool', tool_call_id: call.id, content: weatherOf(call.function.arguments) })
          }
        },
      }
    },
  }
}

function responsesAgent(model: string, mode: Mode, hasTools: boolean): Agent {
  const input: OpenAI.Responses.ResponseInput = [{ role: 'user', content: 'The weather?' }]
  return {
    async take() {
      const tools = hasTools ? { tools: [{ type: 'function' as const, strict: true, ...WEATHER }] } : {}
      const request = { model, input, store: false, ...tools }
      const { responses } = openai()
      const response =
        mode === 'whole' ? await responses.create(request) : await responses.stream(request).finalResponse()
      const output: OpenAI.Responses.ResponseOutputItem[] = response.output
      const calls = output.filter((item) => item.type === 'function_call')
      return {
        text: response.output_text,
        calls,
        answer() {
          // Every output item is valid input, but the types of the package do not say so.
          input.push(...(output as OpenAI.Responses.ResponseInput))
          for (const { call_id, arguments: args } of calls) {
            input.push({ type: 'function_call_output', call_id, output: weatherOf(args) })
          }
        },
      }
    },
  }
}

function messagesAgent(model: string, mode: Mode, hasTools: boolean): Agent {
  const messages: Anthropic.MessageParam[] = [{ role: 'user', content: 'The weather?' }]
  const { name, description, parameters } = WEATHER
  const tool = { name, description, input_schema: { ...parameters, required: ['city'] } }
  return {
    async take() {
      const request = { model, max_tokens: 1000, messages, ...(hasTools && { tools: [tool] }) }
      const client = anthropic()
      const message =
        mode === 'whole' ? await client.messages.create(request) : await client.messages.stream(request).finalMessage()
      const calls = message.content.filter((block) => block.type === 'tool_use')
      return {
        text: message.content.map((block) => (block.type === 'text' ? block.text : '')).join(''),
        calls,
        answer() {
          messages.push({ role: 'assistant', content: message.content })
          const results = calls.map(({ id, input }) => {
            return { type: 'tool_result' as const, tool_use_id: id, content: weatherOf(input) }
          })
          messages.push({ role: 'user', content: results })
        },
      }
    },
  }
}

const AGENTS = {
  'openai chat completions': chatAgent,
  'openai responses': responsesAgent,
  '@anthropic-ai/sdk messages': messagesAgent,
}

describe.each(Object.entries(AGENTS))('%s', (_, agentOf) => {
  describe.each(DIALECT_NAMES)('over a %s backend', (backend) => {
    it.each(MODES)('answers: %s', async (mode) => {
      const { text, calls } = await agentOf(`any/${backend}`, mode, false).take()
      expect([text, calls.length]).toEqual(['The weather?', 0])
    })

    it.each(MODES)('completes a tool loop with parallel calls: %s', async (mode) => {
      const agent = agentOf(`any/${backend}`, mode, true)
      const counts: number[] = []
      for (;;) {
        const turn = await agent.take()
        counts.push(turn.calls.length)
        if (turn.calls.length === 0) {
          expect([turn.text, counts]).toEqual([ALL_WEATHER, [2, 1, 0]])
          return
        }
        turn.answer()
      }
    })
  })
})
