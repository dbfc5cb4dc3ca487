import { writeShortList } from '../../kernel/formats/short-list.ts'
import type { Backend, TeamModel } from '../../sdk/index.ts'
import { withSameTarget } from '../same-target.ts'
import { ok, problem, warning } from './finding.ts'
import type { Finding } from './finding.ts'

type Team = { readonly models: readonly TeamModel[]; readonly defaultModel: string | null }

/** The maximum number of models that a finding names. */
const MAX_NAMED = 10

/**
 * Checks that the gateway has a backend for each model that the team may call. `url`: the deployment that the command
 * was given.
 */
export function checkModels({ models, defaultModel }: Team, backends: readonly Backend[], url?: string): Finding[] {
  const configured = backends.filter(({ state }) => state !== 'not_configured').map(({ name }) => name)
  const isServed = ({ usable, serve }: TeamModel) => usable && serve.some(({ backend }) => configured.includes(backend))
  const unserved = models.filter((model) => model.published && !isServed(model)).map(({ id }) => id)
  const others = unserved.filter((id) => id !== defaultModel)
  const choose = withSameTarget('svc models default ID', { url })
  const findings: Finding[] = []
  if (defaultModel !== null)
    findings.push(
      unserved.includes(defaultModel)
        ? problem('default model', `${refusedModels([defaultModel])} Or choose another one: ${choose}`)
        : ok('default model', `A backend serves ${defaultModel}.`),
    )
  if (others.length > 0) findings.push(warning('models', refusedModels(others)))
  return findings
}

function refusedModels(ids: readonly string[]): string {
  const calls = ids.length === 1 ? 'calls of it' : 'calls of them'
  const named = writeShortList(ids, MAX_NAMED)
  return `No backend of the gateway serves ${named}, so ${calls} are refused. The operator can configure one.`
}
