/**
 * A language model for a real inference server whose output is scripted. Its one layer passes its input through, and
 * its last matrix is a table of which token follows which. With it a recording is the same each time, needs no download
 * and takes milliseconds. What the server makes of the tokens (chunks, tool calls, reasoning, counts, finish reasons)
 * is the real behaviour of the server.
 */
import { CHAT_TEMPLATE } from './scripted-model-template.ts'

/** The scripted outputs, in tokens. A token occurs only once, because the model sees nothing but the last token. */
const SCRIPTS = {
  hello: ['Hello', ' from', ' the', ' engine', '.'],
  // Some characters are split into a token per byte, as in real vocabularies.
  greeting: [
    ...['Gr', '<0xC3>', '<0xBC>', 'ß', ' dich', ', ', '<0xE4>', '<0xB8>', '<0x96>', '界', '! '],
    ...['<0xF0>', '<0x9F>', '<0x91>', '<0x8B>'],
  ],
  sequence: ['one', ' two', ' END', ' three'],
  thought: ['<think>', '\nThe', ' user', ' greets', ' me', '.\n', '</think>', '\n\nGood', ' morning', '!'],
  call: [
    ...['<tool_call>', '\n{"name": "', 'get_weather', '", "arguments": {"city": "', 'Zürich', '", "days": ', '3'],
    ...['}}\n', '</tool_call>'],
  ],
  plan: [
    ...['<think>\n', 'Look', ' first', '.\n</think>', "\n\nI'll", ' look at', ' it', '.\n<tool_call>', '\n{"name":'],
    ...[' "get_weather",', ' "arguments":', ' {"city":', ' "Zü', 'rich",', ' "days":', ' 3}', '}\n</tool_call>'],
  ],
  calls: [
    ...['Both', ' at', ' once', '.\n\n', '<tool_call>\n', '{"name": "get', '_weather", ', '"arguments": {"city":'],
    ...[' "Bern"', ', "days": 1', '}}\n</tool_call>', '\n<tool_call>\n{"name"', ': "read_file", "arguments": '],
    ...['{"path": ', '"ü.txt"', '}}', '\n</tool_call>'],
  ],
  endless: [' tick', ' tock'],
} as const

export type ScriptName = keyof typeof SCRIPTS

/** The option of llama-server that makes the model start with this output, by making its first token likely. */
export function startOption(script: ScriptName): string[] {
  return ['--logit-bias', `${String(idOf(SCRIPTS[script][0]))}+${String(LIKELY)}`]
}

/**
 * Weights of the table. A script that has started continues whatever is likely; where a grammar forbids that, the weak
 * ones count.
 */
const CERTAIN = 60
const LIKELY = 42
const WEAK = 25

const END = '<|im_end|>'
const WEAK_STEPS = [
  // A prompt ends with a line break.
  ['<0x0A>', SCRIPTS.hello[0]],
  ['.', SCRIPTS.call[0]],
] as const

type Step = { readonly from: number; readonly to: number; readonly weight: number }

function steps(): Step[] {
  const certain = Object.entries(SCRIPTS).flatMap(([name, says]) =>
    says.map((token, at) => [token, says[at + 1] ?? (name === 'endless' ? says[0] : END)] as const),
  )
  if (new Set(certain.map(([from]) => from)).size < certain.length)
    throw new Error('A token occurs twice in the scripts.')
  const toStep = (weight: number) => (pair: readonly [string, string]) => ({
    from: idOf(pair[0]),
    to: idOf(pair[1]),
    weight,
  })
  return [...certain.map(toStep(CERTAIN)), ...WEAK_STEPS.map(toStep(WEAK))]
}

// ---- vocabulary

const TYPES = { unknown: 2, normal: 1, control: 3, marker: 4, byte: 6 } as const

type Token = { readonly text: string; readonly type: keyof typeof TYPES }

const LETTERS = 'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 .,:{}[]"<>/|_'

const VOCABULARY: readonly Token[] = distinct([
  ...toTokens('unknown', ['<unk>']),
  ...toTokens('control', ['<|im_start|>', END]),
  ...toTokens(
    'byte',
    Array.from({ length: 256 }, (_, byte) => `<0x${byte.toString(16).toUpperCase().padStart(2, '0')}>`),
  ),
  ...toTokens('marker', ['<think>', '</think>', '<tool_call>', '</tool_call>']),
  ...toTokens('normal', [...Object.values(SCRIPTS).flat(), ...Array.from(LETTERS)]),
])

const IDS: ReadonlyMap<string, number> = new Map(VOCABULARY.map(({ text }, id) => [text, id]))

function toTokens(type: Token['type'], texts: readonly string[]): Token[] {
  return texts.map((text) => ({ text, type }))
}

function distinct(tokens: readonly Token[]): Token[] {
  return tokens.filter(({ text }, at) => tokens.findIndex((token) => token.text === text) === at)
}

function idOf(text: string): number {
  const id = IDS.get(text)
  if (id === undefined) throw new Error(`The vocabulary has no token ${text}.`)
  return id
}

// ---- weights

const WIDTH = 256
const HEAD = 64
const FORWARD = 32

type Tensor = { readonly name: string; readonly shape: readonly number[]; readonly values: Float32Array<ArrayBuffer> }

function tensors(): Tensor[] {
  const embedding = randomSigns(VOCABULARY.length * WIDTH)
  const vectorOf = (id: number) => embedding.subarray(id * WIDTH, (id + 1) * WIDTH)
  const table = new Float32Array(VOCABULARY.length * WIDTH)
  for (const { from, to, weight } of steps()) {
    vectorOf(from).forEach(
      (sign, at) => (table[to * WIDTH + at] = (table[to * WIDTH + at] ?? 0) + (sign * weight) / WIDTH),
    )
  }
  const filled = (name: string, shape: number[], value: number): Tensor => ({
    name,
    shape,
    values: new Float32Array(shape.reduce((product, size) => product * size)).fill(value),
  })
  return [
    { name: 'token_embd.weight', shape: [WIDTH, VOCABULARY.length], values: embedding },
    filled('blk.0.attn_norm.weight', [WIDTH], 1),
    filled('blk.0.attn_q.weight', [WIDTH, WIDTH], 0),
    filled('blk.0.attn_k.weight', [WIDTH, HEAD], 0),
    filled('blk.0.attn_v.weight', [WIDTH, HEAD], 0),
    filled('blk.0.attn_output.weight', [WIDTH, WIDTH], 0),
    filled('blk.0.ffn_norm.weight', [WIDTH], 1),
    filled('blk.0.ffn_gate.weight', [WIDTH, FORWARD], 0),
    filled('blk.0.ffn_up.weight', [WIDTH, FORWARD], 0),
    filled('blk.0.ffn_down.weight', [FORWARD, WIDTH], 0),
    filled('output_norm.weight', [WIDTH], 1),
    { name: 'output.weight', shape: [WIDTH, VOCABULARY.length], values: table },
  ]
}

/** Nearly orthogonal vectors, the same in each run (xorshift). */
function randomSigns(length: number): Float32Array<ArrayBuffer> {
  let state = 12_345
  return Float32Array.from({ length }, () => {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    return state & 1 ? 1 : -1
  })
}

// ---- the file: GGUF, version 3 (ggml, docs/gguf.md)

/** The bytes of the model's file. */
export function scriptedModel(): Buffer {
  const parts = tensors()
  let offset = 0
  const described = parts.map(({ name, shape, values }) => {
    const at = offset
    offset += padded(values.byteLength)
    return Buffer.concat([text(name), uint32(shape.length), ...shape.map(uint64), uint32(0), uint64(at)])
  })
  const facts = metadata()
  const head = [Buffer.from('GGUF'), uint32(3), uint64(parts.length), uint64(facts.length), ...facts, ...described]
  return Buffer.concat([pad(Buffer.concat(head)), ...parts.map(({ values }) => pad(Buffer.from(values.buffer)))])
}

function metadata(): Buffer[] {
  const numbers: [string, number][] = [
    ['general.file_type', 0],
    ['llama.block_count', 1],
    ['llama.context_length', 131_072],
    ['llama.embedding_length', WIDTH],
    ['llama.feed_forward_length', FORWARD],
    ['llama.attention.head_count', WIDTH / HEAD],
    ['llama.attention.head_count_kv', 1],
    ['llama.rope.dimension_count', HEAD],
    ['llama.vocab_size', VOCABULARY.length],
    ['tokenizer.ggml.unknown_token_id', 0],
    ['tokenizer.ggml.bos_token_id', 1],
    ['tokenizer.ggml.eos_token_id', idOf(END)],
  ]
  return [
    fact('general.architecture', 'string', text('llama')),
    fact('general.name', 'string', text('scripted')),
    ...numbers.map(([name, value]) => fact(name, 'uint32', uint32(value))),
    fact('llama.attention.layer_norm_rms_epsilon', 'float32', float32(1e-5)),
    fact('tokenizer.ggml.model', 'string', text('llama')),
    list('tokenizer.ggml.tokens', 'string', VOCABULARY.map(asWritten).map(text)),
    list(
      'tokenizer.ggml.scores',
      'float32',
      VOCABULARY.map((_, id) => float32(-id)),
    ),
    list(
      'tokenizer.ggml.token_type',
      'int32',
      VOCABULARY.map(({ type }) => uint32(TYPES[type])),
    ),
    fact('tokenizer.ggml.add_bos_token', 'bool', Buffer.of(0)),
    fact('tokenizer.ggml.add_space_prefix', 'bool', Buffer.of(0)),
    fact('tokenizer.chat_template', 'string', text(CHAT_TEMPLATE)),
  ]
}

/** A vocabulary of this kind writes a space as U+2581. */
function asWritten({ text, type }: Token): string {
  return type === 'normal' ? text.replaceAll(' ', '\u2581') : text
}

const VALUE_TYPES = { uint32: 4, int32: 5, float32: 6, bool: 7, string: 8 } as const
const LIST = 9

function fact(name: string, type: keyof typeof VALUE_TYPES, value: Buffer): Buffer {
  return Buffer.concat([text(name), uint32(VALUE_TYPES[type]), value])
}

function list(name: string, type: keyof typeof VALUE_TYPES, values: readonly Buffer[]): Buffer {
  return Buffer.concat([text(name), uint32(LIST), uint32(VALUE_TYPES[type]), uint64(values.length), ...values])
}

function text(value: string): Buffer {
  return Buffer.concat([uint64(Buffer.byteLength(value)), Buffer.from(value)])
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32LE(value)
  return bytes
}

function uint64(value: number): Buffer {
  const bytes = Buffer.alloc(8)
  bytes.writeBigUInt64LE(BigInt(value))
  return bytes
}

function float32(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeFloatLE(value)
  return bytes
}

const ALIGNMENT = 32

function padded(length: number): number {
  return Math.ceil(length / ALIGNMENT) * ALIGNMENT
}

function pad(bytes: Buffer): Buffer {
  return Buffer.concat([bytes, Buffer.alloc(padded(bytes.length) - bytes.length)])
}
