import { DEFAULT_CAPS } from '../../src/gateway/dialects/caps.ts'
import type { ModelCaps } from '../../src/gateway/dialects/caps.ts'
import type { Dialect } from '../../src/gateway/dialects/dialect.ts'

/** A model of each vendor that supports all that its dialect has. */
export const VENDOR_CAPS: Readonly<Record<Dialect, ModelCaps>> = {
  chat: {
    ...DEFAULT_CAPS.chat,
    midSystem: true,
    limitName: 'max_completion_tokens',
    strictTools: true,
    pdf: true,
    audio: true,
    cacheMarks: 'explicit',
    customTools: true,
    namedChoice: true,
    effortHints: true,
    reasoningReplay: 'accepted',
    vendorHints: true,
  },
  responses: { ...DEFAULT_CAPS.responses, cacheMarks: 'explicit', hostedSearch: true },
  messages: { ...DEFAULT_CAPS.messages, midSystem: true, thinking: 'adaptive', hostedSearch: true, blockBinding: true },
}
