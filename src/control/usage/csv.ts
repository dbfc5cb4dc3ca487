/** Reports as tables for spreadsheets (RFC 4180). */
import type { Response } from 'express'
import type { UsageReport, UsageSums } from '../../../generated/openapi.ts'

const COLUMNS: readonly (readonly [heading: string, of: (sums: UsageSums) => string])[] = [
  ['calls', ({ calls }) => String(calls)],
  ['failed_calls', ({ failedCalls }) => String(failedCalls)],
  ['unknown_calls', ({ unknownCalls }) => String(unknownCalls)],
  ['estimated_calls', ({ estimatedCalls }) => String(estimatedCalls)],
  ['unpriced_calls', ({ unpricedCalls }) => String(unpricedCalls)],
  ['input_tokens', ({ inputTokens }) => String(inputTokens)],
  ['cache_read_tokens', ({ cacheReadTokens }) => String(cacheReadTokens)],
  ['cache_write_tokens', ({ cacheWriteTokens }) => String(cacheWriteTokens)],
  ['cache_write_long_tokens', ({ cacheWriteLongTokens }) => String(cacheWriteLongTokens)],
  ['output_tokens', ({ outputTokens }) => String(outputTokens)],
  ['reasoning_tokens', ({ reasoningTokens }) => String(reasoningTokens)],
  ['cost_usd', ({ costNanoUsd }) => (costNanoUsd === null ? '' : toUsd(costNanoUsd))],
]

/** Answers with a report as a file that a browser saves. */
export function sendCsv(res: Pick<Response, 'attachment'>, report: UsageReport): void {
  res.attachment(toFileName(report)).type('text/csv').end(writeCsv(report))
}

/** Writes the rows of a report, without its total. */
export function writeCsv({ by, rows }: UsageReport): string {
  const lines = [
    [by, 'name', ...COLUMNS.map(([heading]) => heading)],
    ...rows.map((row) => [toCell(row.id), toCell(row.name), ...COLUMNS.map(([, of]) => of(row))]),
  ]
  return lines.map((cells) => `${cells.join(',')}\r\n`).join('')
}

/** The name under which a browser saves the table. */
export function toFileName({ team, from, to }: UsageReport): string {
  return `usage-${team.slice(1).replace('/', '-')}-${from}-${to}.csv`
}

/**
 * A text as a cell. Spreadsheets take a text that begins with one of these characters, or with its full-width form, for
 * a formula, which could send the table to somebody else, so it gets an apostrophe in front. In some countries they
 * also begin a cell behind a semicolon.
 */
function toCell(text: string | null): string {
  const safe = (text ?? '').replaceAll(/(^|;)(?=[=+\-@\t\r\n＝＋－＠])/g, "$1'")
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}

/** 10^-9 USD as USD with all of their decimals, exactly. */
function toUsd(nano: number): string {
  const digits = String(nano).padStart(10, '0')
  return `${digits.slice(0, -9)}.${digits.slice(-9)}`
}
