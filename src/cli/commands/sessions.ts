import { Command } from 'commander'
import { toCount } from '../../kernel/formats/number-format.ts'
import { writeDollars } from '../../kernel/formats/usd.ts'
import { followAgentSession, unwrap } from '../../sdk/index.ts'
import type { SessionEvent } from '../../sdk/index.ts'
import { findById, ID_HELP } from '../arguments/find-by-id.ts'
import { actionOf } from '../command-line.ts'
import type { Cli, GlobalOptions, MakeCommand } from '../command-line.ts'
import { openDeployment } from '../deployment/deployment.ts'
import type { Deployment } from '../deployment/deployment.ts'
import { toLocalTime } from '../terminal/local-time.ts'
import { printable } from '../terminal/output.ts'
import type { Output } from '../terminal/output.ts'

type Options = GlobalOptions & { readonly json?: boolean; readonly account?: string }

/** The longest page of the API. */
const MAX_LISTED = 200

export const makeSessions: MakeCommand = (cli) =>
  new Command('sessions')
    .description('List the latest sessions of agents in your team. A session is one run of an agent.')
    .option('--account <account>', 'only sessions of this account: an email address, or service:NAME')
    .option('--json', 'print JSON')
    .action(actionOf(cli, listSessions))
    .addCommand(
      new Command('watch')
        .description('Print the calls of a session as they happen, until you press Ctrl-C.')
        .argument('<id>', ID_HELP)
        .action(actionOf(cli, watchSession)),
    )

async function listSessions(cli: Cli, { url, json, account }: Options): Promise<void> {
  const { output } = cli
  const deployment = await openDeployment(cli, url)
  const sessions = await findSessions(deployment, account, 50)
  if (json) return output.json(sessions)
  if (sessions.length === 0) {
    const ofAccount = account === undefined ? '' : ` of ${account}`
    return output.print(`The team ${deployment.profile.team} has no sessions${ofAccount} yet.`)
  }
  output.table(
    ['ID', 'ACCOUNT', 'MODEL', 'CALLS', 'FAILED', 'TOKENS IN', 'OUT', 'LAST ACTIVE', ''],
    sessions.map(({ id, calls, failedCalls, runningCalls, tokens, lastActiveAt, ...session }) => [
      id,
      session.account,
      session.model,
      ...[calls, failedCalls, tokens.input, tokens.output].map(toCount),
      toLocalTime(lastActiveAt),
      runningCalls > 0 ? 'running' : '',
    ]),
  )
}

async function watchSession(cli: Cli, start: string, options: Options): Promise<void> {
  const { output } = cli
  const deployment = await openDeployment(cli, options.url)
  const { isListed, ...session } = await findSession(deployment, start, options.account)
  const { team } = deployment.profile
  const id = printable(session.sessionId)
  const what = isListed
    ? `Following session ${id} of ${team}.`
    : `${team} has no session ${id} yet. Waiting for its first call.`
  if (!options.json) output.note(`${what} Press Ctrl-C to stop.`)
  for await (const event of followAgentSession(deployment.streaming, { ...session, team })) {
    output.print(options.json ? JSON.stringify(event) : toLine(event, output))
  }
}

async function findSessions({ control, profile }: Deployment, account: string | undefined, limit: number) {
  const query = { limit, ...(account !== undefined && { account }) }
  const params = { path: { team: profile.team }, query }
  return (await unwrap(control.GET('/v1/teams/{team}/sessions', { params }))).sessions
}

/** A session that is not listed may have had no call yet: its ID is then taken as it was typed. */
async function findSession(deployment: Deployment, start: string, account: string | undefined) {
  const listed = await findSessions(deployment, account, MAX_LISTED)
  const found = findById(listed, start, {
    plural: 'sessions',
    nameOf: (session) => `${session.id} of ${session.account}`,
    hint: 'Give more of the ID, or --account.',
  })
  if (!found) return { sessionId: start, account, isListed: false }
  return { sessionId: found.id, account: found.account, isListed: true }
}

const STATES = {
  'call.started': ['started', 'cyan'],
  'call.retried': ['retried', 'yellow'],
  'call.finished': ['finished', 'green'],
  'call.failed': ['failed', 'red'],
  heartbeat: ['', 'dim'],
} as const

function toLine({ type, at, model = '', servedBy = '', ...event }: SessionEvent, { style }: Output): string {
  const [word, color] = STATES[type]
  const { durationMs, status, outcome, tokens, costNanoUsd } = event
  const ending = type === 'call.failed' ? [outcome === 'whole' ? '' : outcome, status && `status ${status}`] : []
  const time = new Date(at).toTimeString().slice(0, 8)
  const facts = [
    model,
    servedBy,
    durationMs === undefined ? '' : `${(durationMs / 1000).toFixed(1)} s`,
    tokens ? toTokens(tokens) : '',
    costNanoUsd === undefined ? '' : writeDollars(costNanoUsd),
    ...ending,
  ]
  const printed = facts.filter(Boolean).map(String).map(printable)
  return [time, style(color, word.padEnd(8)), ...printed].join('  ')
}

function toTokens({ input, cached, output }: NonNullable<SessionEvent['tokens']>): string {
  const known = [
    input === undefined ? '' : `${toCount(input)} in${cached ? ` (${toCount(cached)} cached)` : ''}`,
    output === undefined ? '' : `${toCount(output)} out`,
  ]
  return known.filter(Boolean).join(', ')
}
