/**
 * A directory that an admin applies to their teams: the fields of the directory file that admins may set. What is left
 * out stays as it is, and a list that is given is complete.
 */
import type { z } from 'zod'
import { isObject } from '../kernel/json.ts'
import { formatTeamName } from '../kernel/team-name.ts'
import { adminModelFields } from './admin-models.ts'
import type { AdminModelSettings } from './admin-models.ts'
import { email, list, name, object, role, text } from './fields.ts'
import { findRepeated } from './mistakes.ts'
import type { Mistake } from './mistakes.ts'
import { readYamlText } from './yaml-text.ts'

/** What a directory wants of one team. */
export type WantedTeam = {
  /** `@organization/name`. */
  readonly team: string
  /** Absent: they stay. */
  readonly members?: readonly { readonly email: string; readonly role: 'member' | 'admin' }[]
  /** Absent: they stay. */
  readonly models?: readonly { readonly id: string; readonly settings: AdminModelSettings }[]
  /** Absent: it stays. Null: there is none. */
  readonly defaultModel?: string | null
}

/** More teams are applied in several parts, so that a transaction is short. */
const MAX_TEAMS = 20

const team = object({
  name,
  members: list(object({ email, role })).optional(),
  defaultModel: text.nullable().optional(),
})
const directorySchema = object({
  organizations: list(object({ name, teams: list(team).min(1, 'must name a team') })).min(
    1,
    'must name an organization',
  ),
  models: list(object({ id: text, ...adminModelFields })).optional(),
})

type Given = z.output<typeof directorySchema>

/** Reads a directory of an admin. A mistake is one line of text: `line 12, organizations[0].name: ...`. */
export function readAdminDirectory(given: string): { teams: readonly WantedTeam[] } | { mistakes: string[] } {
  const read = readYamlText(given, directorySchema, () => [], refuseOperatorsFile)
  if ('mistakes' in read) return read
  const teams = toTeams(read.value)
  const mistakes = findMistakes(read.value, teams)
  return mistakes.length > 0 ? { mistakes: mistakes.map(({ message }) => message) } : { teams }
}

/**
 * Names the fields that only the directory file of the operator can have; null: there are none. An admin who gives that
 * file would otherwise read a mistake for each of its models and teams.
 */
function refuseOperatorsFile(content: unknown): string | null {
  const teams = listOf(content, 'organizations').flatMap((organization) => listOf(organization, 'teams'))
  const found = [
    findFields([content], ['revision', 'backends'], ''),
    findFields(teams, ['timeZone', 'models'], ' of teams'),
    findFields(listOf(content, 'models'), MODEL_FIELDS_OF_OPERATOR, ' of models'),
  ].filter((fields) => fields !== '')
  if (found.length === 0) return null
  return (
    `only the directory file of the operator can have these fields: ${found.join('; ')}. Leave them out. An admin ` +
    'sets members and defaultModel of teams, and models whose ids begin with organization/team/'
  )
}

const MODEL_FIELDS_OF_OPERATOR = ['owner', 'backendModel', 'upstreamModel', 'price', 'certified', 'verificationState']

/** Those of the names that at least one of the mappings has, such as `owner, price of models`; empty without any. */
function findFields(mappings: readonly unknown[], names: readonly string[], ofWhat: string): string {
  const found = names.filter((name) => mappings.some((mapping) => isObject(mapping) && Object.hasOwn(mapping, name)))
  return found.length === 0 ? '' : found.join(', ') + ofWhat
}

/** The list that a mapping has under a name; empty for anything else. */
function listOf(mapping: unknown, name: string): readonly unknown[] {
  const value = isObject(mapping) ? mapping[name] : null
  return Array.isArray(value) ? value : []
}

function toTeams({ organizations, models }: Given): WantedTeam[] {
  return organizations.flatMap(({ name: organization, teams }) =>
    teams.map(({ name, members, defaultModel }) => {
      const own = models?.filter(({ id }) => id.startsWith(`${organization}/${name}/`))
      return {
        team: formatTeamName({ organization, name }),
        ...(members && { members }),
        ...(own && { models: own.map(({ id, ...settings }) => ({ id, settings })) }),
        ...(defaultModel !== undefined && { defaultModel }),
      }
    }),
  )
}

function findMistakes({ models = [] }: Given, teams: readonly WantedTeam[]): Mistake[] {
  const owned = new Set(teams.flatMap((wanted) => wanted.models?.map(({ id }) => id) ?? []))
  const foreign = models.flatMap(({ id }, i) =>
    owned.has(id)
      ? []
      : [
          {
            path: ['models', i, 'id'],
            message: `"${id}" does not begin with organization/team/ of a team of this directory`,
          },
        ],
  )
  const surplus = teams.length > MAX_TEAMS ? [{ path: [], message: `it names more than ${MAX_TEAMS} teams` }] : []
  return [
    ...surplus,
    ...foreign,
    ...findRepeated(teams.map((wanted) => wanted.team)),
    ...findRepeated(models.map(({ id }) => id)),
    ...teams.flatMap(({ members = [] }) => findRepeated(members.map((member) => member.email))),
  ]
}
