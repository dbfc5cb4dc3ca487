import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'

const root = path.join(import.meta.dirname, '..')

export const RELEASED = path.join(root, 'spec/released/openapi.json')
export const CURRENT = path.join(root, 'generated/openapi.json')
export const ACCEPTED = path.join(root, 'spec/released/accepted.json')

/** One difference between two documents. `major` breaks integrators that rely on the released one. */
export type Change = {
  readonly impact: 'major' | 'minor' | 'patch'
  readonly kind: string
  /** A JSON pointer (RFC 6901) into the document. */
  readonly path: string
  readonly message: string
}

export type Comparison = {
  readonly changes: readonly Change[]
  readonly versions: { readonly released: string; readonly current: string }
  /** Why the current version number is too low for the changes; null when it is high enough. */
  readonly versionMistake: string | null
}

type Report = {
  readonly infoVersions: { readonly base: string; readonly revision: string }
  readonly changes: readonly (Omit<Change, 'message'> & {
    readonly verdicts: readonly { readonly message: string }[]
  })[]
}

/**
 * Lists the changes between two OpenAPI files, and judges whether the version was raised enough for them (`redocly
 * diff`).
 */
export function compare(released: string, current: string): Comparison {
  const folder = mkdtempSync(path.join(tmpdir(), 'svc-diff-'))
  try {
    const output = path.join(folder, 'report.json')
    const config = path.join(root, 'spec/redocly.yaml')
    const args = [
      'diff',
      released,
      current,
      '--config',
      config,
      '--check-version',
      '--fail-on=none',
      '--format=json',
      '-o',
      output,
    ]
    const { status, stderr } = spawnSync(path.join(root, 'node_modules/.bin/redocly'), args, {
      cwd: root,
      encoding: 'utf8',
      env: { ...process.env, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' },
    })
    // Redocly's own report format, version 1.
    const report = JSON.parse(readFileSync(output, 'utf8')) as Report
    const mistake = stderr.split('\n').find((line) => line.includes('info.version'))
    return {
      versions: { released: report.infoVersions.base, current: report.infoVersions.revision },
      changes: report.changes.map(({ impact, kind, path, verdicts }) => ({
        impact,
        kind,
        path,
        message: verdicts.map(({ message }) => message).join(' ') || kind,
      })),
      versionMistake: status === 0 ? null : (mistake?.replace(/^\W+/, '') ?? `redocly diff failed:\n${stderr}`),
    }
  } finally {
    rmSync(folder, { recursive: true })
  }
}

/** Breaking changes since the last release that were decided on, as `describeChange` describes them. */
export type Accepted = { readonly why: string; readonly changes: readonly string[] }

/** What to do about breaking changes that are not accepted, and about accepted ones that do not exist. */
export function findBreakingMistakes({ changes, versions }: Comparison, accepted: readonly Accepted[]): string[] {
  const breaking = changes.filter(({ impact }) => impact === 'major').map(describeChange)
  const listed = accepted.flatMap((group) => group.changes)
  const unaccepted = breaking.filter((line) => !listed.includes(line))
  const outdated = listed.filter((line) => !breaking.includes(line))
  const mistakes: [string[], string][] = [
    [
      unaccepted,
      `These changes break integrators that use release ${versions.released} of the contract. Undo them. ` +
        'If one must be, copy its line to spec/released/accepted.json, and say why:',
    ],
    [outdated, 'Remove these lines from spec/released/accepted.json, because the contract has no such change:'],
  ]
  return mistakes
    .filter(([lines]) => lines.length > 0)
    .map(([lines, advice]) => [advice, ...new Set(lines)].join('\n  '))
}

/** Describes a change in one line: where it is, what has changed, and who is affected. */
export function describeChange({ path: pointer, message }: Change): string {
  const parts = pointer
    .replace(/^#\//, '')
    .split('/')
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'))
  const [area, name = '', method = '', ...inside] = parts
  if (area !== 'paths') return `${parts.join(' > ')}: ${message}`
  const operation = `${method.toUpperCase()} ${name}`.trim()
  return `${operation}: ${inside.join(' > ')}: ${message} (${audience(inside)})`
}

function audience([first = '']: readonly string[]): string {
  if (first === 'responses') return 'affects readers of this answer'
  return ['parameters', 'requestBody'].includes(first)
    ? 'affects senders of this request'
    : 'affects callers of this operation'
}
