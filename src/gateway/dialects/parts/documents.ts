import type { DocumentPart, Source } from '../neutral.ts'

/** Returns the source of a document as text where its bytes are a text, which every model reads. */
export function readableSource(source: Source): Source {
  if (source.kind !== 'bytes' || !source.mediaType.startsWith('text/')) return source
  return { kind: 'text', text: Buffer.from(source.base64, 'base64').toString() }
}

/** Writes a document as text, for a dialect whose texts have no title. Null: the text follows in other parts. */
export function toDocumentText(
  { title, context }: Pick<DocumentPart, 'title' | 'context'>,
  text: string | null,
): string {
  return [title, context, text].filter((line) => line !== null).join('\n')
}
