import { readFileSync } from 'node:fs'
import { Secret } from '../kernel/secret.ts'
import type { ReadSecret } from '../kernel/secret-source.ts'

/** Reads secrets that the directory file refers to: variables of this environment, and files. */
export function makeSecretReader(env: Readonly<Record<string, string | undefined>>): ReadSecret {
  return (source) => (source.file === null ? readVariable(env, source.env ?? '') : readSecretFile(source.file))
}

function readVariable(env: Readonly<Record<string, string | undefined>>, name: string): ReturnType<ReadSecret> {
  const value = env[name]?.trim()
  return value ? toSecret(value) : { mistake: `names the environment variable ${name}, which is not set` }
}

function readSecretFile(file: string): ReturnType<ReadSecret> {
  try {
    const value = readFileSync(file, 'utf8').trim()
    return value === '' ? { mistake: `names the file ${file}, which is empty` } : toSecret(value)
  } catch {
    return { mistake: `names the file ${file}, which cannot be read` }
  }
}

/** A secret that cannot be the value of a header would fail each call. */
function toSecret(value: string): ReturnType<ReadSecret> {
  return /^[\x21-\x7e]+$/.test(value)
    ? { secret: new Secret(value) }
    : { mistake: 'names a secret with characters that an HTTP header cannot hold' }
}
