/** The data of server-sent events (WHATWG HTML, section 9.2), one text an event. Throws when the connection breaks. */
export async function* eventData(stream: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  let data: string[] = []
  for await (const line of lines(stream)) {
    if (line.startsWith('data:')) data.push(line.slice(line[5] === ' ' ? 6 : 5))
    if (line !== '' || data.length === 0) continue
    yield data.join('\n')
    data = []
  }
}

/**
 * The data of each server-sent event of a streamed call (`parseAs: 'stream'`), parsed. Ends at `[DONE]` or with the stream; throws when the
 * connection breaks. `streamChatCompletion` and its like also tell a stream that stopped short.
 */
export async function* events<Event = unknown>(stream: ReadableStream<Uint8Array>): AsyncGenerator<Event> {
  for await (const data of eventData(stream)) {
    if (data === '[DONE]') return
    // What the service streams is what the caller says: the contract has a type for each style.
    yield JSON.parse(data) as Event
  }
}

/** Lines that have ended; what is behind the last end is no line. */
async function* lines(stream: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const reader = stream.getReader()
  const decoder = new TextDecoder()
  let rest = ''
  try {
    for (let read = await reader.read(); !read.done; read = await reader.read()) {
      const text = decoder.decode(read.value, { stream: true })
      // A CR at the very end may be half of a CRLF; it waits for what follows.
      const parts = (rest + text).split(/\r\n|\n|\r(?!$)/)
      rest = parts.pop() ?? ''
      yield* parts
    }
    if (rest.endsWith('\r')) yield rest.slice(0, -1)
  } finally {
    await reader.cancel().catch(() => {})
  }
}
