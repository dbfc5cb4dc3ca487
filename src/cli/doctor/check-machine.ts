import { existsSync } from 'node:fs'
import { access, constants, stat } from 'node:fs/promises'
import path from 'node:path'
import { unlessMissing } from '../../kernel/error-code.ts'
import { explainUnusedProxy } from '../../kernel/network/outbound-proxy.ts'
import { AGENTS } from '../agents/agents.ts'
import type { AgentName } from '../agents/agents.ts'
import { CREDENTIAL_VARIABLES, SERVICE_VARIABLES } from '../agents/claude.ts'
import { findProgram } from '../agents/program.ts'
import type { Environment } from '../environment.ts'
import { findFileProblem } from '../failures.ts'
import { withSameTarget } from '../same-target.ts'
import { findWritten } from '../setup/settings-file.ts'
import type { Start } from '../setup/settings-file.ts'
import { quoteForShell } from '../terminal/shell.ts'
import type { Callable } from './check-deployment.ts'
import { ok, problem, problemOf, warning } from './finding.ts'
import type { Finding } from './finding.ts'

/** Checks that this user can write the folder of the credentials, and that other users cannot read it. */
export async function checkFolder({ folder, platform }: Environment): Promise<Finding> {
  try {
    const found = await unlessMissing(stat(folder), null)
    await access(found ? folder : findExisting(folder), constants.W_OK | constants.X_OK)
    if (!found) return ok('credentials', `None yet; they will be kept in ${folder}.`)
    const isOpen = platform !== 'win32' && (found.mode & 0o077) !== 0
    return isOpen
      ? problem('credentials', `Other users can read ${folder}. Run: chmod 700 ${quoteForShell(folder, platform)}`)
      : ok('credentials', `Kept in ${folder}.`)
  } catch (error) {
    const reason = findFileProblem(error)
    if (reason === null) throw error
    return problem(
      'credentials',
      `They cannot be kept in ${folder}: ${reason}. Change that, or set XDG_CONFIG_HOME to a folder of your own.`,
    )
  }
}

/** The innermost folder of a path that exists; the root where none does, as that of a drive that is gone on Windows. */
function findExisting(folder: string): string {
  const parent = path.dirname(folder)
  return parent === folder || existsSync(parent) ? parent : findExisting(parent)
}

/** Warns of environment variables that lead Claude Code elsewhere, or that have no effect here. */
export function checkVariables({ variables }: Environment): Finding[] {
  const isSet = (name: string) => Boolean(variables[name])
  const texts = [
    ...SERVICE_VARIABLES.filter(isSet).map((name) => `${name} is set: claude calls another service. ${CLEAR}`),
    ...CREDENTIAL_VARIABLES.filter(isSet).map((name) => `${name} is set: claude sends it to svc. ${CLEAR}`),
    explainUnusedProxy(variables) ?? [],
  ].flat()
  return texts.map((text) => warning('environment', text))
}

const CLEAR = 'Unset it, or use svc run.'

/** What the settings of an agent are compared with. `url`: the deployment that the command was given. */
type Expected = { readonly callable: Callable | null; readonly url: string | undefined }

/**
 * Checks that an agent is installed, that the settings that svc wrote for it are still there, that they name the team's
 * gateway, and that the team may call the model that they name.
 */
export async function checkAgent(environment: Environment, name: AgentName, expected: Expected): Promise<Finding> {
  const { program, installCommand } = AGENTS[name]
  const found = findProgram(program, environment)?.found
  if (found === undefined) return ok(name, `Not installed. To install it: ${installCommand}`)
  return checkSettings(environment, name, { found, ...expected }).catch((error: unknown) => problemOf(name, error))
}

type Installed = Expected & { readonly found: string }

async function checkSettings({ folder }: Environment, name: AgentName, installed: Installed): Promise<Finding> {
  const { found, callable, url } = installed
  const written = await findWritten(folder, name)
  if (written === null)
    return ok(name, `Installed: ${found}. Start it with: ${withSameTarget(`svc run ${name}`, { url })}`)
  const { file, start } = written
  const again = `Run: ${withSameTarget(`svc setup ${name} --write`, { url })}`
  if (!existsSync(file)) return warning(name, `${file}, which svc setup wrote, does not exist any more. ${again}`)
  const outdated = start && callable?.url === start.url ? findOutdated(file, start, callable) : null
  if (outdated !== null) return problem(name, `svc setup wrote ${outdated} ${again}`)
  return ok(name, `Installed: ${found}. svc setup has written settings into ${file}.`)
}

/** What is outdated in a settings file, for a sentence that begins with "svc setup wrote"; null where nothing is. */
function findOutdated(file: string, { gatewayUrl, model }: Start, callable: Callable): string | null {
  if (gatewayUrl !== callable.gatewayUrl)
    return `an earlier address of the gateway into ${file}. It is ${callable.gatewayUrl} now.`
  if (model === null || callable.hasModel(model)) return null
  return `the model ${model} into ${file}. Your team may not call it.`
}
