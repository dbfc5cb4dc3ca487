import { existsSync } from 'node:fs'
import { stat } from 'node:fs/promises'
import { AGENTS } from '../agents/agents.ts'
import type { AgentName } from '../agents/agents.ts'
import { findProgram } from '../agents/program.ts'
import type { Environment } from '../environment.ts'
import { findWritten } from '../setup/settings-file.ts'
import { ok, problem, problemOf, warning } from './finding.ts'
import type { Finding } from './finding.ts'

/** Checks that other users cannot read the credentials. */
export async function checkFolder({ folder, platform }: Environment): Promise<Finding> {
  const found = await stat(folder).catch(() => null)
  if (!found) return ok('credentials', `None yet; they will be kept in ${folder}.`)
  const isOpen = platform !== 'win32' && (found.mode & 0o077) !== 0
  return isOpen
    ? problem('credentials', `Other users can read ${folder}. Run: chmod 700 ${folder}`)
    : ok('credentials', `Kept in ${folder}.`)
}

/** Warns of environment variables that override the settings, or that have no effect here. */
export function checkVariables({ variables }: Environment): Finding[] {
  const isSet = (name: string) => Boolean(variables[name])
  const findings: Finding[] = []
  if (isSet('ANTHROPIC_API_KEY')) {
    findings.push(
      warning(
        'environment',
        'ANTHROPIC_API_KEY is set: claude uses it instead of the settings of svc setup. Unset it, or use svc run.',
      ),
    )
  }
  const proxy = ['HTTPS_PROXY', 'https_proxy', 'HTTP_PROXY', 'http_proxy'].find(isSet)
  if (proxy !== undefined && !isSet('NODE_USE_ENV_PROXY')) {
    findings.push(
      warning(
        'environment',
        `${proxy} is set, but svc does not use it. Set NODE_USE_ENV_PROXY=1 (Node.js 22.21 or newer) to use it.`,
      ),
    )
  }
  return findings
}

/** Checks that an agent is installed, and that the settings that svc wrote for it are still there. */
export async function checkAgent(environment: Environment, name: AgentName): Promise<Finding> {
  const { program, installCommand } = AGENTS[name]
  const found = findProgram(program, environment)?.found
  if (found === undefined) return ok(name, `Not installed. To install it: ${installCommand}`)
  return checkSettings(environment, name, found).catch((error: unknown) => problemOf(name, error))
}

async function checkSettings({ folder }: Environment, name: AgentName, found: string): Promise<Finding> {
  const written = await findWritten(folder, name)
  if (written === null) return ok(name, `Installed: ${found}. Start it with: svc run ${name}`)
  return existsSync(written)
    ? ok(name, `Installed: ${found}. svc setup has written settings into ${written}.`)
    : warning(name, `${written}, which svc setup wrote, does not exist any more. Run: svc setup ${name} --write`)
}
