import type { ModelCaps } from '../caps.ts'
import type { NeutralRequest, Part, PartContent } from '../neutral.ts'
import { NO_AUDIO, refuse } from '../refusal.ts'
import { readableSource } from './documents.ts'

/**
 * Replaces images, files and audio that the model cannot read by notes, in the results of tools and in everything
 * before the last answer. An agent sends these with every further call, so that a refusal would end its session: after
 * its tool has read a file, or after another model has served the session before. Throws a refusal for what the user
 * sends now.
 */
export function noteUnreadable(request: NeutralRequest, caps: ModelCaps): NeutralRequest {
  if (caps.images && caps.pdf && caps.audio) return request
  const lastAnswer = request.turns.findLastIndex(({ role }) => role === 'assistant')
  const noteAll = (part: Part): Part => {
    if (part.type === 'result') return { ...part, parts: part.parts.map(noteAll) }
    const kind = findUnreadable(part, caps)
    return kind === null
      ? part
      : { type: 'text', text: toNote(kind), path: part.path, ...(part.mark && { mark: part.mark }) }
  }
  const noteResults = (part: Part): Part => {
    if (part.type === 'result') return noteAll(part)
    const kind = findUnreadable(part, caps)
    return kind === null ? part : refuse(part.path, REFUSALS[kind])
  }
  return {
    ...request,
    turns: request.turns.map((turn, at) => ({
      ...turn,
      parts: turn.parts.map(at < lastAnswer ? noteAll : noteResults),
    })),
  }
}

type Kind = 'image' | 'file' | 'audio'

/** What the model lacks, and what to send instead. */
const REFUSALS: Readonly<Record<Kind, string>> = {
  image: 'This model reads no images: describe the image in text, or choose a model that reads images.',
  file: 'This model reads no files: send the text of the document, or choose a model that reads files.',
  audio: NO_AUDIO,
}

function findUnreadable(part: PartContent, caps: ModelCaps): Kind | null {
  if (part.type === 'image') return caps.images ? null : 'image'
  if (part.type === 'audio') return caps.audio ? null : 'audio'
  if (part.type !== 'document' || caps.pdf || readableSource(part.source).kind === 'text') return null
  return 'file'
}

function toNote(kind: Kind): string {
  return `[Left out: ${kind}. This model cannot read it.]`
}
