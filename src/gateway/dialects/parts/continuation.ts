import type { NeutralRequest, Part, Turn } from '../neutral.ts'
import type { TranslationContext } from '../translated-dialect.ts'

/** What a model is told after a last message of the assistant. */
const CONTINUE = 'Your last message broke off. Continue exactly where it ends, and repeat nothing of it.'

/**
 * Asks a model that cannot continue a last message of the assistant to go on after it, when the client is Codex: after
 * a stream that broke off, Codex repeats the call with the parts that it has got, and a refusal would end its session.
 * Reasoning at the end is dropped, because what followed it is lost. The model does not reason in such a call: the
 * vendor would bind its reasoning to a text that later calls do not have.
 */
export function askToContinue(
  request: NeutralRequest,
  { caps, isCodex }: Pick<TranslationContext, 'caps' | 'isCodex'>,
): NeutralRequest {
  if (!isCodex || caps.prefill || request.turns.at(-1)?.role !== 'assistant') return request
  const turns = withoutLastReasoning(request.turns)
  const last = turns.at(-1)
  if (last?.role !== 'assistant' || last.parts.some(({ type }) => type === 'call')) return { ...request, turns }
  const { path } = last
  const told: Turn = { role: 'system', path, parts: [{ type: 'text', text: CONTINUE, path }] }
  return { ...request, turns: [...turns, told], reasoning: { effort: null, effortIsHint: false, show: null } }
}

/** Drops the reasoning and the blank texts with which the assistant ends. */
function withoutLastReasoning(turns: readonly Turn[]): readonly Turn[] {
  const at = turns.findLastIndex(({ role, parts }) => role !== 'assistant' || parts.some(isSaid))
  const last = turns[at]
  if (last?.role !== 'assistant') return turns.slice(0, at + 1)
  const parts = last.parts.slice(0, last.parts.findLastIndex(isSaid) + 1)
  return [...turns.slice(0, at), { ...last, parts }]
}

function isSaid(part: Part): boolean {
  if (part.type === 'text' || part.type === 'refusal') return part.text.trim() !== ''
  return part.type !== 'reasoning'
}
