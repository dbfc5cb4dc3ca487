import { SlotList } from '../../kernel/slot-list.ts'

/** A stream that may be silent for longer than proxies tolerate. */
export type SilentStream = {
  /** Called `TICKS_OF_SILENCE` times within the maximum silence. */
  tick(): void
}

export type StreamKeepAlive = {
  /** Returns the number that `remove` needs. */
  add(stream: SilentStream): number
  remove(slot: number, stream: SilentStream): void
}

/** After this many ticks without a byte, a stream sends its keep-alive. */
export const TICKS_OF_SILENCE = 3

/**
 * Keeps silent streams alive, because proxies close a connection that has carried no byte for about a minute. One timer
 * serves all streams, so that a chunk does not have to restart a timer. It runs only while there are streams.
 */
export function makeStreamKeepAlive(silenceMs: number): StreamKeepAlive {
  const streams = new SlotList<SilentStream>()
  let timer: NodeJS.Timeout | null = null
  const tickAll = () => streams.all().forEach((stream) => stream.tick())
  return {
    add(stream) {
      timer ??= setInterval(tickAll, silenceMs / TICKS_OF_SILENCE).unref()
      return streams.add(stream)
    },
    remove(slot, stream) {
      streams.remove(slot, stream)
      if (!timer || streams.size > 0) return
      clearInterval(timer)
      timer = null
    },
  }
}
