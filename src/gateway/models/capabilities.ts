import type { ModelCapabilities } from '../../../generated/openapi.ts'
import type { GivenCaps } from '../../directory/backends.ts'

/** The members of `caps` that this format has. */
const SHOWN = [
  'images',
  'pdf',
  'thinking',
  'efforts',
  'strictTools',
  'hostedSearch',
] as const satisfies readonly (keyof GivenCaps)[]

/**
 * Writes what the directory says of a model as the `capabilities` of vendor B, which have every key. Null where the
 * directory says none of it. Images count as supported unless the directory denies it, as in calls.
 */
export function toCapabilities(caps: GivenCaps): ModelCapabilities | null {
  if (SHOWN.every((name) => caps[name] === undefined)) return null
  const { images = true, pdf = false, strictTools = false, hostedSearch = false } = caps
  return {
    batch: NOT_SUPPORTED,
    citations: NOT_SUPPORTED,
    code_execution: NOT_SUPPORTED,
    context_management: {
      ...NOT_SUPPORTED,
      clear_thinking_20251015: null,
      clear_tool_uses_20250919: null,
      compact_20260112: null,
    },
    effort: toEffort(caps.efforts ?? []),
    image_input: { supported: images },
    pdf_input: { supported: pdf },
    server_tools: { supported: hostedSearch, web_search: { supported: hostedSearch }, code_execution: NOT_SUPPORTED },
    structured_outputs: { supported: strictTools },
    thinking: toThinking(caps.thinking ?? 'none'),
  }
}

const NOT_SUPPORTED = { supported: false }

function toEffort(efforts: readonly string[]): ModelCapabilities['effort'] {
  const has = (effort: string) => ({ supported: efforts.includes(effort) })
  const levels = { low: has('low'), medium: has('medium'), high: has('high'), xhigh: has('xhigh'), max: has('max') }
  return { supported: Object.values(levels).some(({ supported }) => supported), ...levels }
}

/** Every model can be asked not to think, except that some of those that decide for themselves refuse it. */
function toThinking(thinking: NonNullable<GivenCaps['thinking']>): ModelCapabilities['thinking'] {
  return {
    supported: thinking !== 'none',
    types: {
      adaptive: { supported: thinking === 'adaptive' },
      enabled: { supported: thinking === 'budget' },
      disabled: { supported: thinking !== 'adaptive' },
      between_tools: NOT_SUPPORTED,
    },
  }
}
