/** How requests, answers and streams of model calls are written: chat completions, responses or messages. */
export const DIALECT_NAMES = ['chat', 'responses', 'messages'] as const

export type Dialect = (typeof DIALECT_NAMES)[number]
