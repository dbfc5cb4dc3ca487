import type { DocumentPart, Source } from '../neutral.ts'

/** Returns the source of a document as text where its bytes are a text, which every model reads. */
export function readableSource(source: Source): Source {
  if (source.kind !== 'bytes' || !source.mediaType.startsWith('text/')) return source
  return { kind: 'text', text: Buffer.from(source.base64, 'base64').toString() }
}

/**
 * Writes a document as text below its title or name, for a dialect whose texts have none. Null: the text follows in
 * other parts.
 */
export function toDocumentText(
  { name, title, context }: Omit<DocumentPart, 'type' | 'source'>,
  text: string | null,
): string {
  return [title ?? name, context, text].filter((line) => line !== null).join('\n')
}
