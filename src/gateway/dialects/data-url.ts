import type { Source } from './neutral.ts'

/** Reads a URL, or the bytes of a data URL. With a media type in `assumed`, plain base64 is accepted too. */
export function readUrl(url: string, assumed: string | null = null): Source {
  const data = /^data:([^;,]*)(?:;[^,]*)?;base64,/.exec(url.slice(0, 256))
  if (data) return { kind: 'bytes', mediaType: data[1] ?? '', base64: url.slice(data[0].length) }
  if (assumed !== null && !/^https?:/.test(url)) return { kind: 'bytes', mediaType: assumed, base64: url }
  return { kind: 'url', url }
}

/** Returns the URL of a source; bytes become a data URL. */
export function toUrl(source: Source): string {
  if (source.kind === 'url') return source.url
  return source.kind === 'bytes' ? `data:${source.mediaType};base64,${source.base64}` : source.text
}
