import type { operations } from '#openapi'

type Json<Answer> = Answer extends { content: { 'application/json': infer Body } } ? Body : never
type CodeOf<Body> = Body extends { error: { code: infer Code extends string } }
  ? Code
  : // The OAuth operations (RFC 6749, section 5.2).
    Body extends { error: infer Code extends string }
    ? Code
    : never
type Answers<Id extends keyof operations> = operations[Id]['responses']

/** Every error code of the contract. */
export type ErrorCode = {
  [Id in keyof operations]: { [Status in keyof Answers<Id>]: CodeOf<Json<Answers<Id>[Status]>> }[keyof Answers<Id>]
}[keyof operations]
