/**
 * The tables of sums that reports read. `usage_days` has all keys. The others have fewer rows, for reports on large
 * teams: a team of 500 members has about 500 sums a day, and their whole team a few.
 */
import { COUNTERS, KEYS } from './days.ts'

/** A table of sums: its keys, each with its value in SQL, made of the columns of `usage_days`. */
type ReportTable = { readonly name: string; readonly keys: Readonly<Record<string, string>> }

const REPORT_TABLES: readonly ReportTable[] = [
  { name: 'usage_days', keys: Object.fromEntries(KEYS.map(({ name }) => [name, name])) },
  {
    name: 'usage_team_days',
    keys: { team: 'team', day: 'day', model: 'model', backend: 'backend', dialect: 'dialect' },
  },
  {
    name: 'usage_caller_months',
    keys: { team: 'team', month: `date_trunc('month', day)::date`, account_id: 'account_id', key_id: 'key_id' },
  },
]

/** The parts of a statement that add the rows of `source`, which has the columns of `usage_days`, to all tables. */
export function writeSumStatements(source: string): string {
  return REPORT_TABLES.map((table) => `${table.name}_saved AS (${writeSumStatement(table, source)})`).join(',\n')
}

function writeSumStatement({ name, keys }: ReportTable, source: string): string {
  const columns = Object.keys(keys).join(', ')
  const counters = COUNTERS.map((counter) => counter.name)
  return `
    INSERT INTO ${name} (${columns}, ${counters.join(', ')})
    SELECT ${Object.values(keys).join(', ')}, ${counters.map((counter) => `sum(${counter})`).join(', ')}
    FROM ${source} GROUP BY ${Object.values(keys).join(', ')}
    ON CONFLICT (${columns}) DO UPDATE SET
      ${counters.map((counter) => `${counter} = ${name}.${counter} + excluded.${counter}`).join(', ')}`
}
