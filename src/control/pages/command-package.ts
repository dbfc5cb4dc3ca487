import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { explainUnreadable } from '../../config/text-file.ts'
import type { Config } from '../../config/values.ts'
import { OperatorError } from '../../kernel/operator-error.ts'
import { readAsset } from './assets.ts'
import type { Asset } from './assets.ts'
import { PATHS } from './forms.ts'

/** The packed command `svc` that this deployment offers, and the URL from which `npm install -g` takes it. */
export type CommandPackage = { readonly asset: Asset; readonly url: string }

/** Where the package of the service contains the command. A checkout has no such file. */
const INCLUDED = fileURLToPath(new URL('../../../svc-cli.tgz', import.meta.url))

/**
 * Reads the packed command; null when no file is configured and the service does not contain one. Throws an
 * `OperatorError` when the file cannot be read or is no archive.
 */
export function readCommandPackage({
  commandFile,
  baseUrl,
}: Pick<Config, 'commandFile' | 'baseUrl'>): CommandPackage | null {
  const file = commandFile ?? (existsSync(INCLUDED) ? INCLUDED : null)
  if (file === null) return null
  const asset = readArchive(file)
  if (asset.bytes.subarray(0, 2).equals(GZIP_MAGIC)) return { asset, url: baseUrl + PATHS.command }
  throw new OperatorError(`SVC_COMMAND_FILE: ${file} is not a .tgz file, as "npm run pack -- cli" writes it.`)
}

function readArchive(file: string): Asset {
  try {
    return readAsset(file, 'application/gzip')
  } catch (cause) {
    throw new OperatorError(`SVC_COMMAND_FILE: ${file} ${explainUnreadable(cause)}.`, { cause })
  }
}

/** The first bytes of each gzip file (RFC 1952, section 2.3.1). */
const GZIP_MAGIC = Buffer.from([0x1f, 0x8b])
