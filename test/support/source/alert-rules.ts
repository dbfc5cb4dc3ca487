import { readFileSync } from 'node:fs'
import path from 'node:path'
import { parse } from 'yaml'
import { ROOT } from './documents.ts'

export type AlertRule = { readonly alert: string; readonly expr: string }

/** The alerting rules of `docs/deploy/prometheus-alerts.yaml`. */
export function readAlertRules(): AlertRule[] {
  const text = readFileSync(path.join(ROOT, 'docs/deploy/prometheus-alerts.yaml'), 'utf8')
  const { groups } = parse(text) as { readonly groups: readonly { readonly rules: readonly AlertRule[] }[] }
  return groups.flatMap(({ rules }) => rules)
}
