import type { Log } from '../../src/log.ts'

export type LogLine = { readonly level: string; readonly event: string; readonly fields: object }

/** A log that adds its lines to a list. */
export function recordingLog(lines: LogLine[]): Log {
  const at = (level: string) => (fields: object, event: string) => void lines.push({ level, event, fields })
  return {
    debug: at('debug'),
    info: at('info'),
    warn: at('warn'),
    error: at('error'),
    showLink: at('info'),
    close: () => Promise.resolve(true),
  }
}
