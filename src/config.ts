import type { z } from 'zod'
import { findContradictions, findWarnings } from './config/checks.ts'
import { makeSecretReader, readSettingFiles, withoutReplaced } from './config/secrets.ts'
import { SECRET_SETTING_NAMES, SETTINGS } from './config/settings.ts'
import { readOutboundProxy } from './config/outbound-proxy.ts'
import { readTracing, TRACING_FILES } from './config/tracing.ts'
import { toConfig } from './config/values.ts'
import type { Config } from './config/values.ts'
import { OperatorError } from './kernel/operator-error.ts'
import { explainUnusedProxy } from './kernel/network/outbound-proxy.ts'

/** All mistakes of the settings, each starting with the name of its setting. */
export class ConfigError extends OperatorError {
  override readonly name = 'ConfigError'
  readonly mistakes: readonly string[]

  constructor(mistakes: readonly string[]) {
    super(`The settings have mistakes:\n${mistakes.map((mistake) => `  ${mistake}`).join('\n')}`)
    this.mistakes = mistakes
  }
}

type Environment = Readonly<Record<string, string | undefined>>

/**
 * Reads every setting from the environment; `defaults` apply to settings that the environment leaves out. Throws a
 * `ConfigError` with all mistakes. The mistakes never repeat a value, because it may be a secret.
 */
export function readConfig(env: Environment = process.env, defaults: Environment = {}): Config {
  // An empty value counts as not set.
  const set = Object.fromEntries(Object.entries(env).filter(([, value]) => value))
  const { values, mistakes: ofFiles, unread } = readSettingFiles({ ...withoutReplaced(defaults, set), ...set })
  const given = Object.fromEntries(Object.entries(values).filter(([name]) => name.startsWith('SVC_')))
  const isProduction = env['NODE_ENV'] === 'production'
  const read = SETTINGS.safeParse(given)
  const { tracing, mistakes: ofTracing } = readTracing(env)
  const { outboundProxy, mistakes: ofProxy } = readOutboundProxy(env)
  const otherEnvironment = {
    readSecret: makeSecretReader(env),
    tracing,
    outboundProxy,
    hasNotifySocket: Boolean(env['NOTIFY_SOCKET']),
    databaseUrlFile: set['SVC_DATABASE_URL_FILE'] ?? null,
  }
  const issues = read.error?.issues ?? []
  const wrong = new Set(issues.map(({ path: [name] }) => String(name)))
  const valid = read.data ?? SETTINGS.parse(without(given, wrong))
  const config = toConfig(valid, otherEnvironment)
  const between = findContradictions(config, valid, isProduction)
  const mistakes = [
    ...ofFiles,
    ...ofTracing,
    ...ofProxy,
    ...[...wrong].map((name) => `${name}: ${messagesOf(issues, name).join('; ')}`),
    // A setting whose value is not known is not compared with others.
    ...between.filter((mistake) => ![...wrong, ...unread].some((name) => mistake.includes(name))),
  ]
  if (mistakes.length > 0) throw new ConfigError(mistakes)
  return config
}

/** The settings that are given as files, with what the files contain, as a text for `readConfigAgain`. */
export function readFileSettings(env: Environment = process.env): string {
  const { values } = readSettingFiles(env)
  const given = SECRET_SETTING_NAMES.filter((name) => env[`${name}_FILE`])
  const contents = given.map((name) => [name, values[name]])
  const files = [...given.map((name) => `${name}_FILE`), ...TRACING_FILES].map((name) => [name, ''])
  return JSON.stringify(Object.fromEntries([...contents, ...files]))
}

/** Reads every setting as `readConfig` does, but none of the files: `fileSettings` is what they contained before. */
export function readConfigAgain(fileSettings: string, env: Environment = process.env): Config {
  return readConfig({ ...env, ...(JSON.parse(fileSettings) as Environment) })
}

/** Warnings for the operator about settings that are valid. */
export function warningsOf(config: Config, env: Environment = process.env): string[] {
  const unusedProxy = config.role === 'control-plane' ? null : explainUnusedProxy(env)
  const ofSettings = findWarnings(config, Object.keys(env), env['NODE_ENV'] === 'production')
  return unusedProxy === null ? ofSettings : [...ofSettings, unusedProxy]
}

function without(settings: Environment, names: ReadonlySet<string>): Environment {
  return Object.fromEntries(Object.entries(settings).filter(([name]) => !names.has(name)))
}

function messagesOf(issues: readonly z.core.$ZodIssue[], setting: string): string[] {
  const own = issues.filter(({ path: [name] }) => name === setting)
  return [...new Set(own.map((issue) => (issue.code === 'invalid_value' ? oneOf(issue.values) : issue.message)))]
}

function oneOf(values: readonly unknown[]): string {
  return `must be ${values.length > 1 ? 'one of ' : ''}${values.join(', ')}`
}
