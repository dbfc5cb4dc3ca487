/**
 * A language model for a real inference server that says what it is told to. Its one layer passes everything on, and its last matrix is a table of
 * which token follows which: with it a recording says the same every time, needs no download and takes milliseconds. What a server makes of the
 * tokens (chunks, tool calls, reasoning, counts, reasons to end) is the server's own.
 */

/** What it can say, in tokens. A token has one place only, because the last one is all that the model sees. */
const SAYINGS = {
  hello: ['Hello', ' from', ' the', ' engine', '.'],
  // The bytes of some characters are tokens of their own, as in real vocabularies.
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

export type Saying = keyof typeof SAYINGS

/** The option of llama-server that makes the model begin with this saying, by making its first token likely. */
export function beginWith(saying: Saying): string[] {
  return ['--logit-bias', `${String(idOf(SAYINGS[saying][0]))}+${String(LIKELY)}`]
}

/** Weights of the table. A saying, once begun, goes on whatever is likely; where a grammar forbids that, the weak ones count. */
const CERTAIN = 60
const LIKELY = 42
const WEAK = 25

const END = '<|im_end|>'
const WEAK_STEPS = [
  // A prompt ends with a new line.
  ['<0x0A>', SAYINGS.hello[0]],
  ['.', SAYINGS.call[0]],
] as const

type Step = { readonly from: number; readonly to: number; readonly weight: number }

function steps(): Step[] {
  const certain = Object.entries(SAYINGS).flatMap(([name, says]) =>
    says.map((token, at) => [token, says[at + 1] ?? (name === 'endless' ? says[0] : END)] as const),
  )
  if (new Set(certain.map(([from]) => from)).size < certain.length) throw new Error('A token has two places.')
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
  ...toTokens('normal', [...Object.values(SAYINGS).flat(), ...Array.from(LETTERS)]),
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
  if (id === undefined) throw new Error(`There is no token ${text}.`)
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

/** Nearly orthogonal vectors, the same ones every time (xorshift). */
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

/** This kind of vocabulary writes a space as U+2581. */
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

/** ChatML with tools and reasoning, as the Hermes and Qwen families have it. */
const CHAT_TEMPLATE = `{%- if tools %}
    {{- '<|im_start|>system\\n' }}
    {%- if messages[0].role == 'system' %}
        {{- messages[0].content + '\\n\\n' }}
    {%- endif %}
    {{- "# Tools\\n\\nYou may call one or more functions.\\n<tools>" }}
    {%- for tool in tools %}
        {{- "\\n" }}
        {{- tool | tojson }}
    {%- endfor %}
    {{- "\\n</tools>\\n\\nFor each function call, return a json object with function name and arguments within <tool_call></tool_call> XML tags:\\n<tool_call>\\n{\\"name\\": <function-name>, \\"arguments\\": <args-json-object>}\\n</tool_call><|im_end|>\\n" }}
{%- elif messages[0].role == 'system' %}
    {{- '<|im_start|>system\\n' + messages[0].content + '<|im_end|>\\n' }}
{%- endif %}
{%- for message in messages %}
    {%- if message.role == 'user' or (message.role == 'system' and not loop.first) %}
        {{- '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>\\n' }}
    {%- elif message.role == 'assistant' %}
        {{- '<|im_start|>assistant\\n' }}
        {%- if message.reasoning_content %}
            {{- '<think>\\n' + message.reasoning_content.strip('\\n') + '\\n</think>\\n\\n' }}
        {%- endif %}
        {%- if message.content %}
            {{- message.content }}
        {%- endif %}
        {%- if message.tool_calls %}
            {%- for tool_call in message.tool_calls %}
                {%- if (loop.first and message.content) or (not loop.first) %}
                    {{- '\\n' }}
                {%- endif %}
                {%- if tool_call.function %}
                    {%- set tool_call = tool_call.function %}
                {%- endif %}
                {{- '<tool_call>\\n{"name": "' }}
                {{- tool_call.name }}
                {{- '", "arguments": ' }}
                {%- if tool_call.arguments is string %}
                    {{- tool_call.arguments }}
                {%- else %}
                    {{- tool_call.arguments | tojson }}
                {%- endif %}
                {{- '}\\n</tool_call>' }}
            {%- endfor %}
        {%- endif %}
        {{- '<|im_end|>\\n' }}
    {%- elif message.role == 'tool' %}
        {%- if loop.first or (messages[loop.index0 - 1].role != 'tool') %}
            {{- '<|im_start|>user' }}
        {%- endif %}
        {{- '\\n<tool_response>\\n' + message.content + '\\n</tool_response>' }}
        {%- if loop.last or (messages[loop.index0 + 1].role != 'tool') %}
            {{- '<|im_end|>\\n' }}
        {%- endif %}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|im_start|>assistant\\n' }}
    {%- if enable_thinking is defined and enable_thinking is false %}
        {{- '<think>\\n\\n</think>\\n\\n' }}
    {%- endif %}
{%- endif %}`
