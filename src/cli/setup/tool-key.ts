import { rm } from 'node:fs/promises'
import { hostname } from 'node:os'
import path from 'node:path'
import { systemClock } from '../../kernel/clock.ts'
import { DAY_MS } from '../../kernel/durations.ts'
import { rewriteFile } from '../../sdk/node-files.ts'
import { withLock } from '../../sdk/node-lock.ts'
import { SvcError } from '../../sdk/index.ts'
import type { ApiKeyInfo } from '../../sdk/index.ts'
import { openDeployment } from '../deployment/deployment.ts'
import type { Deployment } from '../deployment/deployment.ts'
import { ownKeys } from '../deployment/key-owner.ts'
import { isHttpUrl, isText, readStored } from '../deployment/stored-json.ts'
import type { Cli } from '../command-line.ts'
import type { Environment } from '../environment.ts'
import { CommandError, requireCommandError } from '../failures.ts'
import { removeSettings } from './settings-file.ts'

/** An API key that `svc setup` has created, its deployment, and the account that it belongs to. */
type StoredKey = { readonly url: string; readonly id: string; readonly account: string }

/** The path of the file that holds only the API key of a tool. Only its owner can read it. */
export function toolKeyFile({ folder }: Environment, tool: string): string {
  return path.join(folder, 'setup', `${tool}.key`)
}

/** The name of a tool's API key. It has the name of this machine, to recognize the key in lists and emails. */
export function toolKeyName(tool: string): string {
  return `${tool} on ${hostname()}`
}

/**
 * The API key of a tool, without its secret. `warning`: an earlier key could not be revoked, and what to do about it;
 * else null.
 */
export type ToolKey = { readonly info: ApiKeyInfo; readonly isNew: boolean; readonly warning: string | null }

/**
 * Provides a valid API key for a tool. Keeps an earlier one, unless it belongs to another deployment, expires within a
 * week, or `days` is given.
 */
export function provideToolKey(
  cli: Cli,
  deployment: Deployment,
  tool: string,
  days: number | undefined,
): Promise<ToolKey> {
  // Of two setups at the same time, the second one finds the key of the first.
  return withLock(recordFile(cli.environment, tool), () => provide(cli, deployment, tool, days))
}

async function provide(cli: Cli, deployment: Deployment, tool: string, days: number | undefined): Promise<ToolKey> {
  const { environment } = cli
  const owner = ownKeys(deployment)
  const stored = await findStored(environment, tool)
  const current = stored?.url === deployment.url ? findUsable(await owner.list(), stored.id) : undefined
  if (current && days === undefined) return { info: current, isNew: false, warning: null }
  const wanted = { name: toolKeyName(tool), ...(days !== undefined && { expiresInDays: days }) }
  const { key, info } = await owner.create(wanted)
  const saveRecord = (record: StoredKey) => rewriteFile(recordFile(environment, tool), JSON.stringify(record))
  try {
    // The record is saved first, so that a stored key can always be revoked.
    await saveRecord({ url: deployment.url, id: info.id, account: deployment.profile.account })
    // Settings for another deployment name the same file, and would send the new key there.
    if (stored && stored.url !== deployment.url) await removeSettings(environment.folder, tool)
    await rewriteFile(toolKeyFile(environment, tool), key)
  } catch (error) {
    // The new key was not stored. An earlier one is still in use, so its record comes back.
    await owner.revoke(info.id)
    if (stored) await saveRecord(stored)
    throw error
  }
  // The earlier key is revoked last: when that fails, the new one is in place.
  const failure = stored && (await revoke(cli, stored))
  const warning = failure && explainLeft(`The earlier API key of ${tool}`, stored, failure)
  return { info, isNew: true, warning }
}

/**
 * Revokes the API key of a tool and removes it from this machine. Throws when the deployment could not be asked: the
 * key may then still work.
 */
export async function revokeToolKey(cli: Cli, tool: string): Promise<void> {
  const { environment } = cli
  const stored = await findStored(environment, tool)
  if (!stored) return
  const failure = await revoke(cli, stored)
  await rm(toolKeyFile(environment, tool), { force: true })
  await rm(recordFile(environment, tool), { force: true })
  if (failure === null) return
  throw new CommandError(explainLeft(`The API key of ${tool}`, stored, failure), failure.exitStatus)
}

function explainLeft(which: string, { url, id }: StoredKey, { message }: CommandError): string {
  return (
    `${which} could not be revoked: ${message} It was removed from this machine. ` +
    `To revoke it, run: svc keys revoke ${id} --url ${url}`
  )
}

/** Returns why the key could not be revoked; null when it was, or when it does not exist any more. */
async function revoke(cli: Cli, { url, id, account }: StoredKey): Promise<CommandError | null> {
  try {
    const deployment = await openDeployment(cli, url)
    // The deployment answers 404 for the key of another account too.
    if (account !== deployment.profile.account) return keyOfAnother(account, url)
    await ownKeys(deployment).revoke(id)
    return null
  } catch (error) {
    if (error instanceof SvcError && error.status === 404) return null
    return requireCommandError(error, url)
  }
}

function keyOfAnother(account: string, url: string): CommandError {
  return new CommandError(`It belongs to ${account}. Run svc login ${url} --email ${account} first.`)
}

const MIN_REMAINING_MS = 7 * DAY_MS

function findUsable(keys: readonly ApiKeyInfo[], id: string): ApiKeyInfo | undefined {
  return keys.find((key) => key.id === id && Date.parse(key.expiresAt) - systemClock.now().getTime() > MIN_REMAINING_MS)
}

function recordFile(environment: Environment, tool: string): string {
  return `${toolKeyFile(environment, tool)}.json`
}

function findStored(environment: Environment, tool: string): Promise<StoredKey | null> {
  const advice = `It records the API key of ${tool}. Remove it, and revoke the key: svc keys`
  return readStored<StoredKey>(recordFile(environment, tool), { url: isHttpUrl, id: isText, account: isText }, advice)
}
