import { systemClock } from '../../kernel/clock.ts'
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../kernel/durations.ts'
import { unwrap } from '../../sdk/index.ts'
import type { Backend, SvcClient, TeamModelList } from '../../sdk/index.ts'
import type { AgentSettings } from '../agents/agent.ts'
import { makeHasModel } from '../agents/settings.ts'
import {
  countModels,
  hasOwnGateway,
  listModels,
  NO_MODEL_ADVICE,
  openDeployment,
  refreshProfile,
} from '../deployment/deployment.ts'
import type { Deployment } from '../deployment/deployment.ts'
import { sendRequest } from '../deployment/http.ts'
import type { Cli } from '../command-line.ts'
import { UnreachableError } from '../failures.ts'
import { checkModels } from './check-models.ts'
import { ok, problem, problemOf, warning } from './finding.ts'
import type { Finding } from './finding.ts'

/** What the team may call at a deployment, and where. */
export type Callable = Pick<AgentSettings, 'hasModel' | 'gatewayUrl'> & { readonly url: string }

/** `callable` is null where the models of the team could not be listed. */
type CheckedDeployment = { readonly findings: readonly Finding[]; readonly callable: Callable | null }

/**
 * Checks the sign-in, the control plane, the session and the gateway. Each needs the one before, so the first error
 * ends it. A gateway with an address of its own is also checked when the control plane does not work.
 */
export async function checkDeployment(cli: Cli, given?: string): Promise<CheckedDeployment> {
  const findings: Finding[] = []
  try {
    const deployment = await openDeployment(cli, given)
    const { url, profile } = deployment
    const control = await checkControlPlane(url)
    findings.push(...control.findings)
    if (control.works) {
      await deployment.accessToken()
      findings.push(ok('sign-in', `Signed in to ${url} as ${profile.account}, team ${profile.team}.`))
    } else if (!hasOwnGateway(profile)) return { findings, callable: null }
    const gateway = await checkGateway(deployment, control.works, given)
    return { findings: [...findings, ...gateway.findings], callable: gateway.callable }
  } catch (error) {
    return { findings: [...findings, problemOf('sign-in', error, given)], callable: null }
  }
}

type CheckedControlPlane = { readonly works: boolean; readonly findings: readonly Finding[] }

async function checkControlPlane(url: string): Promise<CheckedControlPlane> {
  const about = 'control plane'
  const fails = (text: string) => ({ works: false, findings: [problem(about, text)] })
  try {
    const response = await sendRequest(new Request(`${url}/healthz`))
    await response.body?.cancel()
    if (!response.ok) return fails(`${url} answered ${response.status}. Check the URL, or tell your operator.`)
    return { works: true, findings: [ok(about, `${url} answers.`), checkClock(url, response.headers.get('date'))] }
  } catch (error) {
    if (error instanceof UnreachableError) return fails(error.message)
    throw error
  }
}

/** A larger difference of the clocks breaks logins and certificates. */
const MAX_CLOCK_SECONDS = 60

function checkClock(url: string, date: string | null): Finding {
  const aheadMs = date === null ? 0 : systemClock.now().getTime() - Date.parse(date)
  if (Math.abs(aheadMs) <= MAX_CLOCK_SECONDS * 1000)
    return ok('clock', `Within ${MAX_CLOCK_SECONDS} s of the clock of ${url}.`)
  const difference = `${toWholeUnits(Math.abs(aheadMs))} ${aheadMs > 0 ? 'ahead of' : 'behind'}`
  return problem('clock', `The clock of this machine is ${difference} that of ${url}. Correct it.`)
}

/** A duration in the largest unit of which it has at least two: `90 s`, `60 minutes`, `400 days`. */
function toWholeUnits(ms: number): string {
  const units = { days: DAY_MS, hours: HOUR_MS, minutes: MINUTE_MS }
  for (const [unit, size] of Object.entries(units)) if (ms >= 2 * size) return `${Math.round(ms / size)} ${unit}`
  return `${Math.round(ms / 1000)} s`
}

/** Checks the gateway. Without the control plane, its address is that of the last sign-in. */
async function checkGateway(
  deployment: Deployment,
  controlWorks: boolean,
  given: string | undefined,
): Promise<CheckedDeployment> {
  let callable: Callable | null = null
  try {
    const { gatewayUrl } = controlWorks ? await refreshProfile(deployment) : deployment.profile
    const gateway = deployment.gatewayAt(gatewayUrl)
    const listed = await listModels(gateway)
    callable = { url: deployment.url, gatewayUrl, hasModel: makeHasModel(listed) }
    const teamModels = controlWorks ? await findTeamModels(deployment) : null
    const answering = { gatewayUrl, gateway, models: countModels(listed), teamModels }
    return { findings: await checkAnswering(answering, given), callable }
  } catch (error) {
    return { findings: [problemOf('gateway', error, given)], callable }
  }
}

/** The models of the team with their backends. Null for a member who is no admin of it. */
async function findTeamModels({ control, profile }: Deployment): Promise<TeamModelList | null> {
  const params = { path: { team: profile.team } }
  return (await control.GET('/v1/teams/{team}/models', { params })).data ?? null
}

/** A gateway that has listed this number of models. */
type Answering = {
  readonly gatewayUrl: string
  readonly gateway: SvcClient
  readonly models: number
  readonly teamModels: TeamModelList | null
}

/** What works at the gateway: the models of the team, the local workers and the backends. */
async function checkAnswering(answering: Answering, given?: string): Promise<Finding[]> {
  const { gatewayUrl, gateway, models, teamModels } = answering
  const [{ workers }, backends] = await Promise.all([
    unwrap(gateway.GET('/v1/workers')),
    // Only admins may list them.
    gateway.GET('/v1/backends').then(({ data: listed }) => listed?.backends ?? null),
  ])
  return [
    models > 0
      ? ok('gateway', `${gatewayUrl} answers; models that your team may use: ${models}.`)
      : problem('gateway', `${gatewayUrl} answers, but your team may use no model. ${NO_MODEL_ADVICE}`),
    ...workers.map(({ id, state }) =>
      state === 'ready' || state === 'not_configured'
        ? ok('local worker', `${id} is ${state.replaceAll('_', ' ')}.`)
        : warning(
            'local worker',
            `${id} is ${state.replaceAll('_', ' ')}. The operator can start the local inference server.`,
          ),
    ),
    ...(backends ? checkBackends(backends) : []),
    ...(backends?.length && teamModels ? checkModels(teamModels, backends, given) : []),
  ]
}

const NO_BACKEND =
  'The gateway has no backend, so it can answer no call. The operator can list one in the directory file.'

/** Checks the vendors' backends: one warning for each fault, or one line that names them all. */
function checkBackends(backends: readonly Backend[]): Finding[] {
  if (backends.length === 0) return [problem('backends', NO_BACKEND)]
  const vendors = backends.filter(({ kind }) => kind === 'vendor')
  const failing = vendors.flatMap((backend) => {
    const fault = faultOf(backend)
    return fault === null ? [] : [warning('backend', `${backend.name} ${fault}`)]
  })
  const isFine = failing.length === 0 && vendors.length > 0
  return isFine ? [ok('backends', `No known faults: ${vendors.map(({ name }) => name).join(', ')}.`)] : failing
}

/** What is wrong with a backend, and what to do; null when no fault is known. */
function faultOf({ state, breaker, lastError }: Backend): string | null {
  const last = lastError ? ` Its last error was ${lastError.result}, at ${lastError.at}.` : ''
  if (state === 'not_configured')
    return 'is not called, because the gateway has no credential for it, or does not allow its host. See its log.'
  if (state === 'unavailable') return `cannot be reached.${last} Check its URL and the network of the gateway.`
  if (lastError && REFUSED_CREDENTIAL.has(lastError.result))
    return `has refused the credential of the gateway.${last} Check its key, and the header that carries it.`
  if (lastError?.result === '404')
    return `did not find what it was asked for.${last} Check the name of the model there, its URL and its basePath.`
  if (breaker === 'closed') return null
  return `has failed repeatedly, so it is tried last.${last} Check the server, and your account there.`
}

/** `lastError` is never a mistake in a caller's request, so with these statuses the backend refused the credential. */
const REFUSED_CREDENTIAL: ReadonlySet<string> = new Set(['400', '401', '403', '407'])
