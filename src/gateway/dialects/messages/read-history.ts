import { readList, readObject, readText } from '../json/read-json.ts'
import type { Json } from '../json/read-json.ts'
import type { Turn } from '../neutral.ts'
import { refuse } from '../refusal.ts'
import type { TranslationContext } from '../translated-dialect.ts'
import { hasSummary, readSummary } from './compaction.ts'
import { readBlocks, readMark, readParts } from './read-content.ts'

/** Reads the system prompt and the messages of a messages request as turns. */
export function readMessagesHistory({ system, messages }: Json, context: TranslationContext): Turn[] {
  return [...readSystem(system), ...readTurns(messages, context)]
}

/** Reads the system prompt as one turn for each block, so that cache marks and boundaries are kept. */
function readSystem(system: unknown): Turn[] {
  if (system === undefined || system === null) return []
  return readBlocks(system, 'system').flatMap((block, at) => {
    const path = `system.${at}`
    const text = readSystemText(block, path)
    // One agent writes this block first, with a value that differs in each conversation. It would prevent a shared
    // cache.
    if (text === '' || text.startsWith('x-anthropic-billing-header:')) return []
    return [{ role: 'system', path, parts: [{ type: 'text', text, path, ...readMark(block) }] } satisfies Turn]
  })
}

function readSystemText(block: Json, path: string): string {
  if (block.type !== 'text') refuse(path, 'A system prompt must be text: send other content in a message of the user.')
  return readText(block.text)
}

function readTurns(messages: unknown, context: TranslationContext): Turn[] {
  if (!Array.isArray(messages)) refuse('messages', 'It must be a list.')
  const listed = readList(messages).map(readObject)
  const lastUserAt = listed.findLastIndex(({ role }) => role === 'user')
  const summaryAt = listed.findLastIndex(hasSummary)
  return listed.flatMap((message, at) => {
    const { role, content, clear_at: clearAt } = message
    const path = `messages.${at}`
    if (at < summaryAt) return []
    // The vendor shows such a system message only until the user's next one.
    if (role === 'system' && clearAt === 'next_user_message' && at < lastUserAt) return []
    if (role !== 'user' && role !== 'assistant' && role !== 'system') {
      refuse(`${path}.role`, 'It must be user, assistant or system.')
    }
    const turn: Turn = { role, path, parts: readParts(role, content, `${path}.content`, context) }
    if (at > summaryAt) return turn
    const text = readSummary(message, `${path}.content`)
    return [{ role: 'user', path, parts: [{ type: 'text', text, path }] }, turn]
  })
}
