/** A stream that may be silent for longer than proxies allow. */
export type SilentStream = {
  /** Called `TICKS_OF_SILENCE` times within the silence that is allowed. */
  tick(): void
}

export type StreamKeepAlive = {
  add(stream: SilentStream): void
  remove(stream: SilentStream): void
}

/** After this many ticks without a byte, a stream sends its keep-alive. */
export const TICKS_OF_SILENCE = 3

/**
 * Keeps silent streams alive: proxies on the way close a connection that has had no byte for about a minute. One timer
 * serves all streams, so that a chunk costs no timer of its own. It runs only while there are streams.
 */
export function makeStreamKeepAlive(silenceMs: number): StreamKeepAlive {
  const streams = new Set<SilentStream>()
  let timer: NodeJS.Timeout | null = null
  return {
    add(stream) {
      streams.add(stream)
      timer ??= setInterval(() => streams.forEach((one) => one.tick()), silenceMs / TICKS_OF_SILENCE).unref()
    },
    remove(stream) {
      streams.delete(stream)
      if (!timer || streams.size > 0) return
      clearInterval(timer)
      timer = null
    },
  }
}
