import { DIALECT_NAMES } from '../../../src/kernel/dialect.ts'
import type { UsageReport } from '../../../generated/openapi.ts'
import { startDeployment } from '../deployment.ts'
import type { Deployment } from '../deployment.ts'
import { bearerOf, expectJson, json } from '../requests.ts'
import { startUpstream } from '../upstream.ts'
import {
  makeScriptedBackends,
  scriptCall,
  SCRIPTED_MODELS,
  SCRIPTED_TEAM,
  sessionOf,
  toScriptedEntries,
} from './scripted-calls.ts'
import type { ScriptedCall, SheetLine } from './scripted-calls.ts'
import { compareReport } from './usage-sheet.ts'

/** Servers that answer scripted calls, and what a directory file needs so that a team can make them. */
export type ScriptedBackends = AsyncDisposable & {
  readonly team: object
  readonly backends: readonly object[]
  readonly models: readonly object[]
  /** What the servers have answered so far. */
  readonly lines: readonly SheetLine[]
  /** A server aborts this when the caller of a call has to leave before any answer. */
  readonly leaving: Map<number, AbortController>
}

/** Scripted calls by three callers of `SCRIPTED_TEAM`, at a deployment with their backends. */
export type ScriptedCalls = {
  /** What the backends have answered so far. */
  readonly lines: readonly SheetLine[]
  /**
   * Makes the scripted call with this number at a gateway, and resolves when it has ended. False: the gateway takes no
   * connection.
   */
  makeCall(number: number, gateway: number): Promise<boolean>
  /** The differences between the reports of the team, by every grouping, and the sums of these lines. */
  compareReports(lines: readonly SheetLine[]): Promise<string[]>
}

export type ScriptedDeployment = AsyncDisposable & ScriptedCalls & { readonly deployment: Deployment }

type Environment = Readonly<Record<string, string>>

/**
 * Starts a deployment of two gateways and a control plane in front of scripted backends. `gatewayEnvs`: settings of
 * single gateways.
 */
export async function startScriptedDeployment(gatewayEnvs: readonly Environment[] = []): Promise<ScriptedDeployment> {
  await using started = new AsyncDisposableStack()
  const scripted = started.use(await startScriptedBackends())
  const { team, backends, models } = scripted
  const directory = JSON.stringify({ organizations: [{ name: 'acme', teams: [team] }], backends, models })
  const deployment = started.use(await startDeployment({ directory, controlPlanes: 1, env: NO_LIMITS, gatewayEnvs }))
  const calls = await openScriptedCalls(deployment, scripted)
  const owned = started.move()
  return { ...calls, deployment, [Symbol.asyncDispose]: () => owned.disposeAsync() }
}

/** Starts a server for each dialect. */
export async function startScriptedBackends(): Promise<ScriptedBackends> {
  const lines: SheetLine[] = []
  const leaving = new Map<number, AbortController>()
  const scripts = makeScriptedBackends(
    (line) => void lines.push(line),
    (number) => leaving.get(number)?.abort(),
  )
  const [chat, responses, messages] = await Promise.all(DIALECT_NAMES.map((dialect) => startUpstream(scripts[dialect])))
  if (!chat || !responses || !messages) throw new Error('A backend did not start.')
  return {
    team: TEAM,
    ...toScriptedEntries({ chat: chat.url, responses: responses.url, messages: messages.url }),
    lines,
    leaving,
    async [Symbol.asyncDispose]() {
      for (const server of [chat, responses, messages]) await server[Symbol.asyncDispose]()
    },
  }
}

/** Signs the callers in. The directory of the deployment must have the entries of these backends. */
export async function openScriptedCalls(
  deployment: Deployment,
  { lines, leaving }: ScriptedBackends,
): Promise<ScriptedCalls> {
  const callers = await openCallers(deployment)
  const callerOf = ({ number }: ScriptedCall) => callers[(number + Math.floor(number / 7)) % callers.length]
  const rows: Readonly<Record<string, (line: SheetLine) => string | null>> = {
    model: ({ call }) => call.model,
    member: ({ call }) => callerOf(call)?.member ?? '',
    key: ({ call }) => callerOf(call)?.key ?? null,
    backend: ({ backend }) => backend,
    dialect: ({ call }) => call.dialect,
  }
  return {
    lines,
    async makeCall(number, gateway) {
      const call = scriptCall(number)
      const controller = new AbortController()
      leaving.set(number, controller)
      const headers = { ...callerOf(call)?.headers, 'x-svc-session-id': sessionOf(number) }
      const origin = deployment.gateways[gateway]?.origin ?? ''
      const isTaken = await readAnswer(
        call,
        fetch(origin + call.path, { ...json(call.body, headers), signal: controller.signal }),
        controller,
      )
      leaving.delete(number)
      return isTaken
    },
    async compareReports(saved) {
      const { accessToken } = await deployment.signIn(ADMIN, 'report')
      const differences: string[] = []
      for (const [by, rowOf] of Object.entries(rows)) {
        const url = `${teamUrlOf(deployment)}/usage?by=${by}`
        const report = await expectJson<UsageReport>('The report', fetch(url, { headers: bearerOf(accessToken) }))
        differences.push(...compareReport(report, saved, rowOf))
      }
      return differences
    },
  }
}

const ADMIN = 'scripted-admin@example.com'
const MEMBER = 'scripted-member@example.com'
const SERVICE_ACCOUNT = 'ci'

const TEAM = {
  name: SCRIPTED_TEAM.split('/')[1],
  models: SCRIPTED_MODELS,
  members: [{ email: ADMIN, role: 'admin' }, { email: MEMBER }],
}

const NO_LIMITS: Environment = Object.fromEntries(
  ['REQUESTS_PER_MINUTE', 'STREAMS', 'ACCOUNT_REQUESTS_PER_MINUTE', 'ACCOUNT_STREAMS'].map((name) => [
    `SVC_LIMIT_${name}`,
    '0',
  ]),
)

function teamUrlOf({ controlPlanes: [controlPlane] }: Deployment): string {
  return `${controlPlane?.origin}/v1/teams/${encodeURIComponent(SCRIPTED_TEAM)}`
}

type Caller = {
  readonly headers: Readonly<Record<string, string>>
  /** The names of its rows in reports. */
  readonly member: string
  readonly key: string | null
}

/** Two people with access tokens, and a service account with a key. */
async function openCallers(deployment: Deployment): Promise<Caller[]> {
  const admin = bearerOf((await deployment.signIn(ADMIN)).accessToken)
  const member = bearerOf((await deployment.signIn(MEMBER)).accessToken)
  const url = `${teamUrlOf(deployment)}/service-accounts`
  const account = await expectJson<{ id: string }>('The account', fetch(url, json({ name: SERVICE_ACCOUNT }, admin)))
  const { key } = await expectJson<{ key: string }>(
    'The key',
    fetch(`${url}/${account.id}/keys`, json({ name: 'build' }, admin)),
  )
  return [
    { headers: admin, member: ADMIN, key: null },
    { headers: member, member: MEMBER, key: null },
    { headers: bearerOf(key), member: `service:${SERVICE_ACCOUNT}`, key: 'build' },
  ]
}

/** Reads an answer as far as the script of its call says. False: there was no connection. */
async function readAnswer(call: ScriptedCall, asking: Promise<Response>, leaving: AbortController): Promise<boolean> {
  try {
    const answer = await asking
    if (call.shape === 'left') await readFirstText(answer)
    else await answer.text()
  } catch (error) {
    // Every other failure is one of the script, or the end of the gateway.
    const cause = error instanceof Error ? error.cause : null
    if (cause instanceof Error && 'code' in cause && cause.code === 'ECONNREFUSED') return false
  }
  leaving.abort()
  return true
}

async function readFirstText(answer: Response): Promise<void> {
  const reader = answer.body?.getReader()
  let text = ''
  while (reader && !text.includes('Hello')) {
    const { done, value } = await reader.read()
    if (done) return
    text += Buffer.from(value).toString()
  }
}
