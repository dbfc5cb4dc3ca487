import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { DEFAULT_CAPS } from '../../src/gateway/dialects/caps.ts'
import type { ModelCaps } from '../../src/gateway/dialects/caps.ts'
import { readChatRequest } from '../../src/gateway/dialects/chat/read-request.ts'
import { writeChatRequest } from '../../src/gateway/dialects/chat/write-request.ts'
import type { Dialect } from '../../src/gateway/dialects/dialect.ts'
import { readList } from '../../src/gateway/dialects/json/read-json.ts'
import type { Json } from '../../src/gateway/dialects/json/read-json.ts'
import { readMessagesRequest } from '../../src/gateway/dialects/messages/read-request.ts'
import { writeMessagesRequest } from '../../src/gateway/dialects/messages/write-request.ts'
import type { NeutralRequest, Part, ToolRef, Turn } from '../../src/gateway/dialects/neutral.ts'
import { toUrl } from '../../src/gateway/dialects/parts/data-url.ts'
import { readResponsesRequest } from '../../src/gateway/dialects/responses/read-request.ts'
import { writeResponsesRequest } from '../../src/gateway/dialects/responses/write-request.ts'
import { toCallId } from '../../src/gateway/dialects/tools/call-ids.ts'
import { nameTools } from '../../src/gateway/dialects/tools/tool-names.ts'
import type { TranslatedDialect, TranslationContext } from '../../src/gateway/dialects/translated-dialect.ts'
import { DIALECT_NAMES } from '../../src/kernel/dialect.ts'
import { pair, PAIRS } from './pairs.ts'
import { countingIds, TRANSLATION } from './streams.ts'

const READ: Readonly<Record<Dialect, TranslatedDialect['readRequest']>> = {
  chat: readChatRequest,
  responses: readResponsesRequest,
  messages: readMessagesRequest,
}
const WRITE: Readonly<Record<Dialect, TranslatedDialect['writeRequest']>> = {
  chat: writeChatRequest,
  responses: writeResponsesRequest,
  messages: writeMessagesRequest,
}

/** A model that takes all that its dialect can say, so that nothing is lost for its sake. */
const ABLE: Partial<ModelCaps> = {
  midSystem: true,
  sampling: true,
  prefill: true,
  namedChoice: true,
  cacheMarks: 'none',
}

function contextOf(dialect: Dialect): TranslationContext {
  return { ...TRANSLATION, backendModel: 'm', newId: countingIds(), caps: { ...DEFAULT_CAPS[dialect], ...ABLE } }
}

// ---- generated conversations

const word = fc.stringMatching(/^[a-zü]{1,12}$/)
const text = (said: string): Part => ({ type: 'text', text: said, path: 'p' })
const image = fc.constant<Part>({
  type: 'image',
  source: { kind: 'bytes', mediaType: 'image/png', base64: 'AAAA' },
  detail: null,
  path: 'p',
})
/** A schema that no dialect changes. */
const CLOSED = { type: 'object', additionalProperties: false }
const READ_TOOL: ToolRef = { kind: 'function', name: 'read', namespace: null }

type Round = {
  readonly asked: readonly Part[]
  readonly said: string
  readonly calls: readonly { args: Json; result: string }[]
}

const round: fc.Arbitrary<Round> = fc.record({
  asked: fc
    .tuple(word.map(text), fc.array(fc.oneof(word.map(text), image), { maxLength: 2 }))
    .map(([first, more]) => [first, ...more]),
  said: word,
  calls: fc.array(fc.record({ args: fc.dictionary(word, word, { noNullPrototype: true }), result: word }), {
    maxLength: 3,
  }),
})

function toTurns(rounds: readonly Round[]): Turn[] {
  return rounds.flatMap(({ asked, said, calls }, nth): Turn[] => {
    const idOf = (at: number): string => `call_${String(nth)}_${String(at)}`
    const made = calls.map(({ args }, at): Part => {
      return { type: 'call', id: idOf(at), tool: READ_TOOL, input: JSON.stringify(args), path: 'p' }
    })
    const results = calls.map(({ result }, at): Part => {
      return { type: 'result', callId: idOf(at), parts: [text(result)], failed: false, callPath: 'p', path: 'p' }
    })
    return [
      { role: 'user', parts: asked, path: 'p' },
      { role: 'assistant', parts: [text(said), ...made], path: 'p' },
      ...(results.length > 0 ? [{ role: 'user', parts: results, path: 'p' } as const] : []),
    ]
  })
}

const request: fc.Arbitrary<NeutralRequest> = fc
  .record({
    system: word,
    rounds: fc.array(round, { minLength: 1, maxLength: 4 }),
    last: word,
    mode: fc.constantFrom('auto', 'required', 'none'),
    parallel: fc.boolean(),
    maxOutput: fc.integer({ min: 16, max: 9999 }),
    temperature: fc.constantFrom(0, 0.5, 1),
    stream: fc.boolean(),
  })
  .map(({ system, rounds, last, mode, parallel, maxOutput, temperature, stream }) => ({
    stream,
    turns: [
      { role: 'system', parts: [text(system)], path: 'p' },
      ...toTurns(rounds),
      { role: 'user', parts: [text(last)], path: 'p' },
    ],
    tools: [
      {
        ...READ_TOOL,
        kind: 'function',
        description: 'Reads.',
        schema: { type: 'object', properties: {} },
        strict: null,
        deferred: false,
        grammar: null,
        path: 'p',
      },
    ],
    choice: { mode, only: null },
    parallel: mode === 'none' ? null : parallel,
    maxOutput,
    stop: [],
    sampling: { temperature, topP: null, topK: null, logprobs: null },
    reasoning: { effort: null, effortIsHint: false, show: null },
    format: { kind: 'schema', name: 'output', description: null, schema: CLOSED, strict: null },
    hints: { user: 'u', cacheKey: null, verbosity: null },
  }))

/** What every dialect carries, with neighbouring texts of one role joined. */
function carried({ stream, turns, tools, choice, parallel, maxOutput, sampling, format, hints }: NeutralRequest) {
  const said: string[] = []
  const isText = (line: string | undefined, role: string) => line?.startsWith(`${role}: `) === true
  for (const { role, parts } of turns) {
    for (const part of parts) {
      const last = said.at(-1)
      if (part.type === 'text' && isText(last, role)) said[said.length - 1] = `${last ?? ''}\n\n${part.text}`
      else said.push(toLine(role, part))
    }
  }
  return {
    ...{ stream, said, choice, parallel, maxOutput, user: hints.user, temperature: sampling.temperature },
    tools: tools.map((tool) => (tool.kind === 'hosted' ? tool.type : [tool.name, tool.description, tool.schema])),
    schema: format?.kind === 'schema' ? format.schema : null,
  }
}

function toLine(role: string, part: Part): string {
  if (part.type === 'text') return `${role}: ${part.text}`
  if (part.type === 'image') return `image ${toUrl(part.source, part.path)}`
  if (part.type === 'call') return `call ${part.id} ${part.tool.name} ${part.input}`
  if (part.type === 'result') return `result ${part.callId} ${part.parts.map((inner) => toLine('', inner)).join()}`
  return part.type
}

describe('a conversation', () => {
  it.each(DIALECT_NAMES)('is the same after it was written as %s and read again', (dialect) => {
    fc.assert(
      fc.property(request, (asked) => {
        const { body } = WRITE[dialect](asked, contextOf(dialect))
        const read = READ[dialect](JSON.parse(JSON.stringify(body)) as Json, contextOf(dialect)).request
        expect(carried(read)).toEqual(carried(asked))
      }),
    )
  })

  it('is the same after it went through every dialect and back', () => {
    fc.assert(
      fc.property(request, fc.shuffledSubarray([...DIALECT_NAMES], { minLength: 2 }), (asked, way) => {
        const through = way.reduce(
          (now, dialect) => READ[dialect](WRITE[dialect](now, contextOf(dialect)).body, contextOf(dialect)).request,
          asked,
        )
        expect(carried(through)).toEqual(carried(asked))
      }),
    )
  })

  it.each(PAIRS)('only grows from turn to turn, from a $client client to a $backend backend', ({ client, backend }) => {
    const caps = { ...DEFAULT_CAPS[backend], cacheMarks: 'none', prefill: true } as const
    fc.assert(
      fc.property(request, round, ({ turns, ...rest }, next) => {
        const historyOf = (all: readonly Turn[]): unknown[] => {
          const { body } = WRITE[client]({ ...rest, turns: all }, contextOf(client))
          const sent = pair(client, backend, JSON.parse(JSON.stringify(body)) as Json, { caps }).request
          return [...readList(sent.messages), ...readList(sent.input)]
        }
        const before = historyOf(turns)
        const said: Turn = { role: 'assistant', parts: [text(next.said)], path: 'p' }
        const after = historyOf([...turns, said, { role: 'user', parts: next.asked, path: 'p' }])
        expect(after.slice(0, before.length)).toEqual(before)
      }),
    )
  })
})

describe('names and ids', () => {
  const tool = fc.record({
    kind: fc.constantFrom('function' as const, 'custom' as const),
    name: fc.string({ minLength: 1, maxLength: 80, unit: fc.constantFrom('a', 'b', '.', '_', 'ü') }),
    namespace: fc.option(fc.constantFrom('n', 'n__', 'm.')),
  })
  const named = (tools: readonly ToolRef[]) => {
    const turns: Turn[] = [
      {
        role: 'assistant',
        path: 'p',
        parts: tools.map((ref) => ({ type: 'call', id: 'c', tool: ref, input: '{}', path: 'p' })),
      },
    ]
    return nameTools({ tools: [], turns }, 64)
  }

  it('of tools are valid, different and lead back, whatever their order', () => {
    fc.assert(
      fc.property(fc.uniqueArray(tool, { selector: (ref) => JSON.stringify(ref), maxLength: 20 }), (tools) => {
        const [names, reversed] = [named(tools), named(tools.toReversed())]
        const all = tools.map((ref) => names.toName(ref))
        expect(all.every((name) => /^[a-zA-Z0-9_-]{1,64}$/.test(name))).toBe(true)
        expect(new Set(all).size).toBe(tools.length)
        expect(tools.map((ref) => reversed.toName(ref))).toEqual(all)
        expect(all.map((name) => names.toTool(name))).toEqual(tools)
      }),
    )
  })

  it('of calls are valid, the same when mapped twice, and do not collide', () => {
    const ids = Array.from({ length: 20_000 }, (_, nth) => `functions.read:${String(nth)}`)
    const mapped = ids.map((id) => toCallId(id))
    expect(new Set(mapped).size).toBe(ids.length)
    expect(mapped.every((id) => /^[a-zA-Z0-9_-]{1,40}$/.test(id))).toBe(true)
    expect(mapped.map((id) => toCallId(id))).toEqual(mapped)
  })
})
