import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { Config } from '../../config/values.ts'
import { OperatorError } from '../../kernel/operator-error.ts'
import { toAsset } from './assets.ts'
import type { Asset } from './assets.ts'
import { PATHS } from './forms.ts'

/** The packed command `svc` that this deployment offers, and the URL from which `npm install -g` takes it. */
export type CommandPackage = { readonly asset: Asset; readonly url: string }

/** Where the packed service has the command. A checkout has no such file. */
const BROUGHT = fileURLToPath(new URL('../../../svc-cli.tgz', import.meta.url))

/**
 * Reads the packed command; null when none is configured and the service brings none. Throws an `OperatorError` when
 * the file is not one.
 */
export function readCommandPackage({
  commandFile,
  baseUrl,
}: Pick<Config, 'commandFile' | 'baseUrl'>): CommandPackage | null {
  const file = commandFile ?? (existsSync(BROUGHT) ? BROUGHT : null)
  if (file === null) return null
  return { asset: toAsset(readArchive(file), 'application/gzip'), url: baseUrl + PATHS.command }
}

function readArchive(file: string): Buffer {
  try {
    const bytes = readFileSync(file)
    if (bytes.subarray(0, 2).equals(GZIP_MAGIC)) return bytes
  } catch (cause) {
    throw new OperatorError(`SVC_COMMAND_FILE: ${file} cannot be read.`, { cause })
  }
  throw new OperatorError(`SVC_COMMAND_FILE: ${file} is not a .tgz file, as "npm run pack -- cli" writes it.`)
}

/** The first bytes of each gzip file (RFC 1952, section 2.3.1). */
const GZIP_MAGIC = Buffer.from([0x1f, 0x8b])
