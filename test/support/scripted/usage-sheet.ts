/** What scripted calls must add to the usage, and what a deployment has saved and reports of it. */
import { isDeepStrictEqual } from 'node:util'
import pg from 'pg'
import type { UsageReport, UsageSums } from '../../../generated/openapi.ts'
import type { Secret } from '../../../src/kernel/secret.ts'
import { PRICE, SCRIPTED_TEAM, sessionOf } from './scripted-calls.ts'
import type { SheetLine, Tokens } from './scripted-calls.ts'

/** The events of the ended calls of `SCRIPTED_TEAM`, each as `writeLine` writes the line that it must equal. */
export async function findSavedLines(databaseUrl: Secret): Promise<string[]> {
  const client = new pg.Client(databaseUrl.reveal())
  await client.connect()
  try {
    const select = `
      SELECT concat_ws(' ', session_id, kind, served_by, style, model, cost_nano_usd, is_estimated,
        uncached_tokens, coalesce(cached_tokens, 0), coalesce(cache_write_tokens, 0),
        coalesce(cache_write_long_tokens, 0), output_tokens, coalesce(reasoning_tokens, 0)) AS line
      FROM call_events WHERE kind <> 'started' AND team = $1`
    const { rows } = await client.query<{ line: string }>(select, [SCRIPTED_TEAM])
    return rows.map(({ line }) => line)
  } finally {
    await client.end()
  }
}

/** A line as `findSavedLines` writes its event. */
function writeLine({ call, backend, kind, tokens, isEstimated }: SheetLine): string {
  const { input, cacheRead, cacheWrite, cacheWriteLong, output, reasoning } = tokens ?? NO_TOKENS
  const outer = [sessionOf(call.number), kind, backend, call.dialect, call.model]
  const cost = tokens && [costOf(tokens), ...(isEstimated ? ['t'] : []), input]
  return [
    ...outer,
    ...(cost ?? []),
    cacheRead,
    cacheWrite,
    cacheWriteLong,
    ...(tokens ? [output] : []),
    reasoning,
  ].join(' ')
}

const NO_TOKENS: Tokens = { input: 0, cacheRead: 0, cacheWrite: 0, cacheWriteLong: 0, output: 0, reasoning: 0 }

/** Prices in 10^-15 USD for a token. */
const RATES = Object.entries(PRICE).map(([name, usd]) => [name, BigInt(Math.round(usd * 1e9))] as const)
const FEMTO_PER_NANO = 1_000_000n

/** In 10^-9 USD, rounded to the nearest. */
function costOf(tokens: Tokens): number {
  const paid: Tokens = { ...tokens, output: tokens.output - tokens.reasoning }
  const femto = RATES.reduce((sum, [name, rate]) => sum + BigInt(paid[name as keyof Tokens]) * rate, 0n)
  return Number((femto + FEMTO_PER_NANO / 2n) / FEMTO_PER_NANO)
}

export type Comparison = {
  readonly saved: readonly SheetLine[]
  readonly missing: readonly SheetLine[]
  /** Events that no line describes, or that are there twice. */
  readonly unexpected: readonly string[]
}

/** Compares the events of a deployment with the lines of the sheet. */
export function compareLines(lines: readonly SheetLine[], found: readonly string[]): Comparison {
  const left = new Map<string, number>()
  for (const line of found) left.set(line, (left.get(line) ?? 0) + 1)
  const [saved, missing]: [SheetLine[], SheetLine[]] = [[], []]
  for (const line of lines) {
    const text = writeLine(line)
    const count = left.get(text) ?? 0
    left.set(text, count - 1)
    ;(count > 0 ? saved : missing).push(line)
  }
  return { saved, missing, unexpected: [...left].filter(([, count]) => count > 0).map(([line]) => line) }
}

/** Adds lines up as a report does. */
export function addUp(lines: readonly SheetLine[]): UsageSums {
  const sum = (of: (line: SheetLine) => number) => lines.reduce((total, line) => total + of(line), 0)
  const sumTokens = (name: keyof Tokens) => sum(({ tokens }) => tokens?.[name] ?? 0)
  return {
    calls: sum(({ kind }) => Number(kind !== 'retried')),
    failedCalls: sum(({ kind }) => Number(kind === 'failed')),
    unknownCalls: sum(({ isUnknown }) => Number(isUnknown)),
    estimatedCalls: sum(({ isEstimated }) => Number(isEstimated)),
    unpricedCalls: 0,
    inputTokens: sumTokens('input'),
    cacheReadTokens: sumTokens('cacheRead'),
    cacheWriteTokens: sumTokens('cacheWrite'),
    cacheWriteLongTokens: sumTokens('cacheWriteLong'),
    outputTokens: sumTokens('output'),
    reasoningTokens: sumTokens('reasoning'),
    costNanoUsd: lines.some(({ tokens }) => tokens) ? sum(({ tokens }) => (tokens ? costOf(tokens) : 0)) : null,
  }
}

/**
 * The differences between a report and the sums of lines, as texts. `rowOf` says in which row of the report a line is:
 * by the name or else the id of the row.
 */
export function compareReport(
  { by, rows, total }: UsageReport,
  lines: readonly SheetLine[],
  rowOf: (line: SheetLine) => string | null,
): string[] {
  const expected = new Map([...Map.groupBy(lines, rowOf)].map(([row, all]) => [row, addUp(all)]))
  const reported = new Map(rows.map(({ id, name, ...sums }) => [name ?? id, sums]))
  const names = [...new Set([...expected.keys(), ...reported.keys()])]
  return [
    ...names.flatMap((name) => describeDifference(`${by} ${name}`, reported.get(name), expected.get(name))),
    ...describeDifference(`total by ${by}`, total, addUp(lines)),
  ]
}

function describeDifference(what: string, reported: UsageSums | undefined, expected: UsageSums | undefined): string[] {
  if (isDeepStrictEqual(reported, expected)) return []
  return [`${what}: the report has ${JSON.stringify(reported)}, the sheet ${JSON.stringify(expected)}`]
}
