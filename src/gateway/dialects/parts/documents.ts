import type { DocumentPart } from '../neutral.ts'

/** Writes a document as text, for a dialect whose texts have no title. Null: the text follows in other parts. */
export function toDocumentText(
  { title, context }: Pick<DocumentPart, 'title' | 'context'>,
  text: string | null,
): string {
  return [title, context, text].filter((line) => line !== null).join('\n')
}
