import type { Source } from '../neutral.ts'
import { refuse } from '../refusal.ts'

/** Reads a URL, or the bytes of a data URL. With a media type in `assumed`, plain base64 is accepted too. */
export function readUrl(url: string, assumed: string | null = null): Source {
  const data = /^data:([^;,]*)(?:;[^,]*)?;base64,/.exec(url.slice(0, 256))
  if (data) return { kind: 'bytes', mediaType: data[1] ?? '', base64: url.slice(data[0].length) }
  if (assumed !== null && !/^https?:/.test(url)) return { kind: 'bytes', mediaType: assumed, base64: url }
  return { kind: 'url', url }
}

/** Returns the URL of a source; bytes become a data URL. `path` is the place of the part, for refusals. */
export function toUrl(source: Source, path: string): string {
  if (source.kind === 'url') return source.url
  return source.kind === 'bytes' ? `data:${source.mediaType};base64,${toBase64(source.base64, path)}` : source.text
}

/** Returns a URL that a vendor can fetch. Throws a refusal for a data URL that is not base64. */
export function requireFetchable(url: string, path: string): string {
  return /^data:/i.test(url) ? refuse(path, 'The data URL is not base64: encode the bytes of the file.') : url
}

/** Returns the text if it is base64; else throws a refusal. */
export function toBase64(base64: string, path: string): string {
  if (/[^A-Za-z0-9+/=\r\n]/.test(base64)) refuse(path, 'The data is not base64: encode the bytes of the file.')
  return base64
}
