import { makeSseDecoder } from '../../src/gateway/dialects/sse/decode.ts'
import type { SseEvent } from '../../src/gateway/dialects/sse/decode.ts'

/** The events of a stream, and whether HTTP says that it is complete. */
export async function readEvents(res: Response): Promise<{ events: SseEvent[]; ended: 'well' | 'broken' }> {
  const decoder = makeSseDecoder()
  const events: SseEvent[] = []
  const reader = res.body?.getReader()
  try {
    for (let read = await reader?.read(); read && !read.done; read = await reader?.read()) {
      events.push(...decoder.push(read.value))
    }
    return { events, ended: 'well' }
  } catch {
    return { events, ended: 'broken' }
  }
}
