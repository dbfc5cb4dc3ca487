/** A pure machine: what goes in, what comes out, and what is left when the input ends. It knows no stream, socket or clock. */
export type Translator<In, Out> = { push(event: In): Out[]; end(): Out[] }

/** Any translator as a stream. */
export function through<In, Out>(translator: Translator<In, Out>): TransformStream<In, Out> {
  return new TransformStream({
    transform: (event, to) => translator.push(event).forEach((out) => to.enqueue(out)),
    flush: (to) => translator.end().forEach((out) => to.enqueue(out)),
  })
}
