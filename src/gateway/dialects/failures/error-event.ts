import { isObject } from '../../../kernel/json.ts'
import { isGiven, parseObject, readText } from '../json/read-json.ts'
import type { SseEvent } from '../sse/decode.ts'
import { isErrorObject, readFailure } from './failure.ts'
import type { Failure } from './failure.ts'

/**
 * Makes a function that returns the failure that an event reports; null when it reports none. `types`: the types of the
 * dialect's events that report one. An `error` in place of a type counts too, because some servers write the errors of
 * another dialect.
 */
export function makeErrorReader(types: readonly string[] = []): (event: SseEvent) => Failure | null {
  const failing: ReadonlySet<string> = new Set(['error', ...types])

  return ({ event, data }) => {
    // Most events end here. Parsing them would double the cost of a large one.
    if (event !== null ? !failing.has(event) : !data.includes('error')) return null
    const body = parseObject(data)
    if (!body) return event === null ? null : readFailure(data)
    const type = readText(body.type)
    const isFailure = failing.has(type) || isErrorObject(body) || (type === '' && isGiven(body.error))
    if (event === null && !isFailure) return null
    return readFailure(isObject(body.response) ? body.response : body)
  }
}
