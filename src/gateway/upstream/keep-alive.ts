/** A stream that may fall silent. */
export type Quiet = {
  /** Comes `TICKS_OF_SILENCE` times in the silence that is allowed. */
  tick(): void
}

export type KeepAlive = {
  add(stream: Quiet): void
  remove(stream: Quiet): void
}

/** A stream that has been silent for so many ticks says something. */
export const TICKS_OF_SILENCE = 3

/**
 * Keeps silent streams alive: proxies on the way close a connection without a byte for a minute or so. One timer serves all streams, and
 * none runs while there is no stream, so that a chunk costs no timer of its own.
 */
export function openKeepAlive(silenceMs: number): KeepAlive {
  const streams = new Set<Quiet>()
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
