import { hostname } from 'node:os'
import { Command } from 'commander'
import { toEmail } from '../../kernel/email.ts'
import { endSession, isReplaced, toStored } from '../../sdk/device-login.ts'
import { createClient, deviceLogin, SvcError, unwrap } from '../../sdk/index.ts'
import type { DeviceLoginOptions, StoredTokens, TokenSet } from '../../sdk/index.ts'
import { toTeam } from '../arguments/team-options.ts'
import { actionOf } from '../command-line.ts'
import type { Cli, GlobalOptions, MakeCommand } from '../command-line.ts'
import { toTeamFacts } from '../deployment/deployment.ts'
import { sendRequest } from '../deployment/http.ts'
import { openProfiles, toDeploymentUrl } from '../deployment/profiles.ts'
import type { Profile, Profiles } from '../deployment/profiles.ts'
import { CommandError, EXIT, requireCommandError, wrongUsage } from '../failures.ts'
import { withSameTarget } from '../same-target.ts'
import { openBrowser } from '../terminal/browser.ts'
import { printable } from '../terminal/output.ts'
import type { Output } from '../terminal/output.ts'
import { loadPrompts } from '../terminal/prompts.ts'
import { quoteForShell } from '../terminal/shell.ts'

type Options = GlobalOptions & { readonly email?: string; readonly team?: string; readonly browser: boolean }

/** Where `npm run demo` and `npm start` listen. */
const DEFAULT_URL = 'http://localhost:8787'

export const makeLogin: MakeCommand = (cli) =>
  new Command('login')
    .description('Sign this machine in to a deployment. The other commands then use it.')
    .argument('[url]', `the deployment (default: the one of the last login, or else ${DEFAULT_URL})`)
    .option('--email <address>', 'the invited email address, which gets the approval link')
    .option(
      '--team <team>',
      '@organization/name, when several teams have invited this email address (default: the one of its last login)',
      toTeam,
    )
    .option('--no-browser', 'do not open a browser')
    .action(actionOf(cli, login))

async function login(cli: Cli, given: string | undefined, options: Options): Promise<void> {
  const { environment, output } = cli
  const profiles = openProfiles(environment.folder)
  const wanted = await prepareLogin(cli, profiles, given, options)
  const granted = await signInToTeam(cli, wanted)
  const { profile, earlier } = await remember(profiles, wanted.url, granted).catch((error: unknown) =>
    giveUp(wanted, granted, error),
  )
  output.print(
    `\n${output.style('green', 'Signed in')} to ${profile.url} as ${profile.account}, team ${profile.team}, ` +
      `device ${wanted.device.deviceName}.\n` +
      'Next: svc run codex, svc run claude or svc run opencode; svc models lists what you may use.',
  )
  if (earlier !== null && !isReplaced(earlier, toStored(granted))) await endEarlier(output, wanted.url, earlier)
}

/** A login that is about to start. */
type Login = {
  readonly url: string
  readonly email: string
  readonly device: { readonly deviceId: string; readonly deviceName: string }
  /** The team that `--team` names. */
  readonly team: string | undefined
  /** The team of the last login with the same address. */
  readonly lastTeam: string | undefined
  /** Whether the link may be opened in a browser. */
  readonly mayOpen: boolean
  /** The command that repeats the login. */
  readonly again: string
}

/** Finds out what is not given: the deployment and the address of the last login, or asks for the address. */
async function prepareLogin(cli: Cli, profiles: Profiles, given: string | undefined, options: Options): Promise<Login> {
  const { team, browser: mayOpen } = options
  const url = toDeploymentUrl(given ?? options.url ?? (await profiles.current()) ?? DEFAULT_URL)
  const last = await findLast(profiles, url)
  const email = options.email ?? (await askEmail(cli, { url, team }, last?.account))
  const command = `svc login ${url} --email ${quoteForShell(email, cli.environment.platform)}`
  return {
    url,
    email,
    device: { deviceId: await profiles.deviceId(), deviceName: hostname() },
    team,
    lastTeam: last?.account === toEmail(email) ? last.team : undefined,
    mayOpen,
    again: withSameTarget(command, { team }),
  }
}

/** The profile of the last login. A damaged one is no failure, because the login replaces it. */
function findLast(profiles: Profiles, url: string): Promise<Profile | null> {
  return profiles.find(url).catch(() => null)
}

async function askEmail(
  { output }: Cli,
  { url, team }: Pick<Login, 'url' | 'team'>,
  last: string | undefined,
): Promise<string> {
  if (!output.isInteractive) {
    throw wrongUsage(`Give the invited email address: ${withSameTarget(`svc login ${url} --email ADDRESS`, { team })}`)
  }
  const { isCancel, text } = await loadPrompts()
  const answer = await text({
    message: `Email address that is invited to ${url}`,
    ...(last !== undefined && { initialValue: last }),
    validate: (value) => (value?.includes('@') ? undefined : 'An email address has an @.'),
    output: process.stderr,
  })
  if (isCancel(answer)) throw new CommandError('Interrupted.', EXIT.interrupted)
  return answer
}

/**
 * Signs in to the chosen team, or else to that of the last login. Where the person has left that one, signs in to
 * another team that has invited them.
 */
async function signInToTeam(cli: Cli, wanted: Login): Promise<TokenSet> {
  const { team, lastTeam, email } = wanted
  try {
    return await signIn(cli, wanted, team ?? lastTeam)
  } catch (error) {
    if (!(error instanceof SvcError && error.code === 'not_invited')) throw error
    if (team !== undefined) throw notInvitedTo(team, email)
    if (lastTeam === undefined) throw error
    return signIn(cli, wanted, undefined)
  }
}

/** Logs in with the SDK. SIGINT cancels it. Refusals become messages that say what to do. */
async function signIn(cli: Cli, wanted: Login, team: string | undefined): Promise<TokenSet> {
  const { url, email, device, again } = wanted
  let isWaiting = false
  const waiting = new AbortController()
  const interrupt = () => waiting.abort()
  process.once('SIGINT', interrupt)
  try {
    return await deviceLogin({
      baseUrl: url,
      email,
      ...device,
      ...(team !== undefined && { team }),
      onCode: (shown) => {
        isWaiting = true
        showCode(cli, wanted, shown)
      },
      fetch: (request) =>
        isWaiting ? sendRequest(request) : cli.output.busy('Asking the deployment', () => sendRequest(request)),
      signal: waiting.signal,
    })
  } catch (error) {
    if (!(error instanceof SvcError)) throw error
    if (error.status === 404) {
      throw new CommandError(`${url} is not a control plane of svc. Check the URL; a gateway cannot sign you in.`)
    }
    if (error.code === 'expired') throw new CommandError(`The login was not approved in time. Run: ${again}`)
    throw error
  } finally {
    process.off('SIGINT', interrupt)
  }
}

function notInvitedTo(team: string, email: string): CommandError {
  return new CommandError(
    `${email} has no active invitation to ${team}. Ask an admin of the team for one, or leave out --team.`,
  )
}

type Shown = Parameters<DeviceLoginOptions['onCode']>[0]

/** Prints the code and the link on stdout, where a script can read them. Opens the link if there is a browser. */
function showCode({ environment, output }: Cli, { url, email, mayOpen }: Login, shown: Shown): void {
  output.print(
    [
      `Signing in to ${url}`,
      '',
      `  1. Open the email that was sent to ${email}.`,
      `  2. Check that it shows this code: ${output.style('bold', printable(shown.userCode))}`,
      '  3. Approve.',
      '',
      `Or approve in your browser: ${output.style('cyan', printable(shown.verificationUri))}`,
      '',
      'Waiting for the approval. Press Ctrl-C to cancel.',
    ].join('\n'),
  )
  if (mayOpen && output.isInteractive) openBrowser(shown.verificationUri, environment)
}

type Remembered = { readonly profile: Profile; readonly earlier: StoredTokens | null }

/**
 * Stores the tokens and the profile together, after the last request. The earlier tokens go first: where this process
 * ends in between, tokens of one account never stand beside the profile of another.
 * Also returns the earlier tokens.
 */
async function remember(profiles: Profiles, url: string, granted: TokenSet): Promise<Remembered> {
  const { account, organization, team, accessToken } = granted
  const client = createClient({ baseUrl: url, accessToken, fetch: sendRequest })
  const found = await unwrap(client.GET('/v1/teams/{team}', { params: { path: { team } } }))
  const profile = { url, account, organization, team, ...toTeamFacts(found) }
  const tokens = profiles.tokens(url)
  const earlier = await tokens.exclusively(async () => {
    // A damaged file is replaced like any other.
    const held = await tokens.load().catch(() => null)
    await tokens.save(null)
    await profiles.save(profile)
    await tokens.save(toStored(granted))
    return held
  })
  await profiles.setCurrent(url)
  return { profile, earlier }
}

/** Ends the new session, because nothing has its tokens, and throws a message that says so. A bug stays as it is. */
async function giveUp({ url, again }: Login, granted: TokenSet, error: unknown): Promise<never> {
  const failure = await tryToEnd(url, toStored(granted))
  const known = requireCommandError(error)
  const state = failure ? `The new session could not be ended: ${failure.message}` : 'The new session was ended.'
  throw new CommandError(
    `The login was approved, but then it failed: ${known.message} ${state} To sign in, run: ${again}`,
  )
}

/** Ends the session of another account or device id, whose tokens were replaced. */
async function endEarlier(output: Output, url: string, earlier: StoredTokens): Promise<void> {
  const failure = await tryToEnd(url, earlier)
  if (!failure) return
  output.note(
    `The earlier session of ${earlier.account} on this machine could not be ended: ${failure.message} ` +
      `To end it, sign in as ${earlier.account} at ${url}/device and sign this machine out there.`,
  )
}

/** Ends a session. Returns why it could not be ended; null when it has ended, by this request or before. */
async function tryToEnd(url: string, tokens: StoredTokens): Promise<CommandError | null> {
  try {
    await endSession(tokens, { baseUrl: url, fetch: sendRequest })
    return null
  } catch (error) {
    return requireCommandError(error)
  }
}
