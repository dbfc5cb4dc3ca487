import { DIALECT_NAMES } from '../../src/kernel/dialect.ts'
import type { UsageReport } from '../../src/control/usage/report.ts'
import { startDeployment } from './deployment.ts'
import type { Deployment } from './deployment.ts'
import { bearerOf } from './keys.ts'
import { expectJson, json } from './requests.ts'
import {
  makeScriptedBackends,
  scriptCall,
  SCRIPTED_MODELS,
  sessionOf,
  writeScriptedDirectory,
} from './scripted-calls.ts'
import type { ScriptedCall, SheetLine } from './scripted-calls.ts'
import { startUpstream } from './upstream.ts'
import { compareReport } from './usage-sheet.ts'

/** Two gateways and a control plane in front of scripted backends, with three callers of one team. */
export type ScriptedDeployment = AsyncDisposable & {
  readonly deployment: Deployment
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

type Environment = Readonly<Record<string, string>>

/** Starts the deployment. `gatewayEnvs`: settings of single gateways. */
export async function startScriptedDeployment(gatewayEnvs: readonly Environment[] = []): Promise<ScriptedDeployment> {
  await using started = new AsyncDisposableStack()
  const lines: SheetLine[] = []
  const leaving = new Map<number, AbortController>()
  const scripts = makeScriptedBackends(
    (line) => void lines.push(line),
    (number) => leaving.get(number)?.abort(),
  )
  const [chat, responses, messages] = await Promise.all(DIALECT_NAMES.map((dialect) => startUpstream(scripts[dialect])))
  if (!chat || !responses || !messages) throw new Error('A backend did not start.')
  for (const server of [chat, responses, messages]) started.use(server)
  const directory = TEAM + writeScriptedDirectory({ chat: chat.url, responses: responses.url, messages: messages.url })
  const deployment = started.use(await startDeployment({ directory, controlPlanes: 1, env: NO_LIMITS, gatewayEnvs }))
  const callers = await openCallers(deployment)
  const callerOf = ({ number }: ScriptedCall) => callers[(number + Math.floor(number / 7)) % callers.length]
  const rows: Readonly<Record<string, (line: SheetLine) => string | null>> = {
    model: ({ call }) => call.model,
    member: ({ call }) => callerOf(call)?.member ?? '',
    key: ({ call }) => callerOf(call)?.key ?? null,
    backend: ({ backend }) => backend,
    dialect: ({ call }) => call.dialect,
  }
  const owned = started.move()
  return {
    deployment,
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
      const url = `${deployment.controlPlanes[0]?.origin}/v1/teams/%40acme%2Fcore/usage?by=`
      const differences: string[] = []
      for (const [by, rowOf] of Object.entries(rows)) {
        const report = await expectJson<UsageReport>('The report', fetch(url + by, { headers: bearerOf(accessToken) }))
        differences.push(...compareReport(report, saved, rowOf))
      }
      return differences
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}

const ADMIN = 'ada@example.com'
const MEMBER = 'bob@example.com'
const SERVICE_ACCOUNT = 'ci'

const TEAM = `
organizations:
  - name: acme
    teams:
      - name: core
        models: ${JSON.stringify(SCRIPTED_MODELS)}
        members: [{ email: ${ADMIN}, role: admin }, { email: ${MEMBER} }]
`

const NO_LIMITS: Environment = Object.fromEntries(
  ['REQUESTS_PER_MINUTE', 'STREAMS', 'ACCOUNT_REQUESTS_PER_MINUTE', 'ACCOUNT_STREAMS'].map((name) => [
    `SVC_LIMIT_${name}`,
    '0',
  ]),
)

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
  const url = `${deployment.controlPlanes[0]?.origin}/v1/teams/%40acme%2Fcore/service-accounts`
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
