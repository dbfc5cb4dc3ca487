import type { ReadSecret } from '../kernel/credentials/secret-source.ts'
import { Secret } from '../kernel/secret.ts'
import { isHeaderValue, isPostgresUrl } from './fields.ts'
import { SECRET_SETTING_NAMES } from './settings.ts'
import { readTextFile } from './text-file.ts'

type Environment = Readonly<Record<string, string | undefined>>

/**
 * Replaces each setting that is given as NAME_FILE by the content of the file, without the line break at its end. The
 * mistakes name the setting and the file, and never the content. `unread`: the settings whose file has no content.
 */
export function readSettingFiles(env: Environment): { values: Environment; mistakes: string[]; unread: string[] } {
  const values: Record<string, string | undefined> = { ...env }
  const mistakes: string[] = []
  const unread: string[] = []
  for (const name of SECRET_SETTING_NAMES) {
    const file = env[`${name}_FILE`]
    if (!file) continue
    if (env[name]) mistakes.push(`${name}_FILE: must not be set together with ${name}`)
    const read = readTextFile(file)
    const value = 'text' in read ? withoutLineBreak(read.text) : ''
    if (value !== '') values[name] = value
    else {
      mistakes.push(`${name}_FILE: the file ${file} ${'problem' in read ? read.problem : 'is empty'}`)
      unread.push(name)
    }
  }
  return { values, mistakes, unread }
}

function withoutLineBreak(text: string): string {
  return text.replace(/\r?\n$/, '')
}

/**
 * Makes the function that reads the URL of a Postgres server from its file, because a password may be rotated. What
 * cannot be read or is no such URL leaves the last one.
 */
export function makeDatabaseUrlReader(first: string, file: string): () => Secret {
  let last = first
  return () => {
    const read = readTextFile(file)
    const url = 'text' in read ? withoutLineBreak(read.text) : ''
    if (isPostgresUrl(url)) last = url
    return new Secret(last)
  }
}

/** Leaves out the defaults of settings that are given as a file. */
export function withoutReplaced(defaults: Environment, env: Environment): Environment {
  return Object.fromEntries(Object.entries(defaults).filter(([name]) => !env[`${name}_FILE`]))
}

/** Reads secrets that the directory file refers to: variables of this environment, and files. */
export function makeSecretReader(env: Environment): ReadSecret {
  return (source) => (source.file === null ? readVariable(env, source.env ?? '') : readSecretFile(source.file))
}

function readVariable(env: Environment, name: string): ReturnType<ReadSecret> {
  const value = env[name]?.trim()
  return value ? toSecret(value) : { mistake: `names the environment variable ${name}, which is not set` }
}

function readSecretFile(file: string): ReturnType<ReadSecret> {
  const read = readTextFile(file)
  if ('problem' in read) return { mistake: `names the file ${file}, which ${read.problem}` }
  const value = read.text.trim()
  return value === '' ? { mistake: `names the file ${file}, which is empty` } : toSecret(value)
}

/** A secret that cannot be the value of a header would fail each call. */
function toSecret(value: string): ReturnType<ReadSecret> {
  return isHeaderValue(value)
    ? { secret: new Secret(value) }
    : { mistake: 'names a secret with characters that an HTTP header cannot hold' }
}
