import path from 'node:path'
import type { Environment } from '../environment.ts'
import { CommandError } from '../failures.ts'
import { toBytes } from '../setup/settings-file.ts'
import { lineEndOf, startOf } from '../setup/splice.ts'
import type { Splice } from '../setup/splice.ts'
import { readToml } from '../setup/toml-text.ts'
import type { TomlKey, TomlOutline } from '../setup/toml-text.ts'
import { toStart } from './agent.ts'
import type { Agent, AgentSettings } from './agent.ts'

/** `svc run` and `svc setup` use the same name, because Codex lists conversations by provider. */
const PROVIDER = 'svc'

/** Shorter than a minute: `svc token` prints tokens that are valid for at least that long. */
const TOKEN_REFRESH_MS = 45_000

/** Longer than two attempts to refresh take when the control plane does not answer. */
const TOKEN_TIMEOUT_MS = 30_000

export const codex: Agent = {
  program: 'codex',
  installCommand: 'npm install -g @openai/codex',
  async launch(settings, _openLocalGateway, { variables }) {
    const [top, provider, auth] = toTables(settings)
    const dotted = (prefix: string, table: Table) =>
      Object.entries(table).map(([key, value]) => `${prefix}${key}=${toToml(value)}`)
    const overrides = [
      ...dotted('', top),
      ...dotted(`model_providers.${PROVIDER}.`, provider),
      ...dotted(`model_providers.${PROVIDER}.auth.`, auth),
    ]
    return { args: overrides.flatMap((override) => ['-c', override]), variables: toCertificates(variables) }
  },
  print(settings) {
    const [top, ...tables] = toTables(settings)
    return [lines(top), ...providerTables(tables)].join('\n\n')
  },
  edit: (settings, { home, variables }) => ({
    file: path.resolve(variables['CODEX_HOME'] || path.join(home, '.codex'), 'config.toml'),
    start: toStart(settings, settings.model),
    emptyText: '',
    change: (text) => ({ splices: makeSplices(text, settings), rewritten: REWRITTEN }),
  }),
}

/** Codex does not read the variable of Node.js with the root certificate of a company; it has one of its own. */
function toCertificates({ NODE_EXTRA_CA_CERTS, CODEX_CA_CERTIFICATE, SSL_CERT_FILE }: Environment['variables']) {
  const isChosen = Boolean(CODEX_CA_CERTIFICATE || SSL_CERT_FILE)
  return NODE_EXTRA_CA_CERTS && !isChosen ? { CODEX_CA_CERTIFICATE: NODE_EXTRA_CA_CERTS } : {}
}

/**
 * What `/model` of Codex writes into the file. `--remove` takes out the model that was chosen there too: it is one of
 * the team, so it is of no use without the provider.
 */
const REWRITTEN = ['model']

type Table = Readonly<Record<string, string | number | boolean | readonly string[]>>

/** The three tables to set: the top of the document, the provider, and how the provider gets its token. */
function toTables({
  gatewayUrl,
  model,
  tokenCommand: [command, ...args],
}: AgentSettings): readonly [Table, Table, Table] {
  const baseUrl = `${gatewayUrl}/codex/v1`
  const provider = { name: 'svc', base_url: baseUrl, wire_api: 'responses', supports_websockets: false }
  return [
    { model, model_provider: PROVIDER },
    // With a catalog of its own, Codex offers the models of the team, and none of its vendor's. 0.169 ignores the key.
    { ...provider, model_catalog_url: `${baseUrl}/models` },
    { command, args, timeout_ms: TOKEN_TIMEOUT_MS, refresh_interval_ms: TOKEN_REFRESH_MS },
  ]
}

function providerTables([provider = {}, auth = {}]: readonly Table[]): string[] {
  return [`[model_providers.${PROVIDER}]\n${lines(provider)}`, `[model_providers.${PROVIDER}.auth]\n${lines(auth)}`]
}

function lines(table: Table): string {
  return Object.entries(table)
    .map(([key, value]) => `${key} = ${toToml(value)}`)
    .join('\n')
}

/** A value in JSON, which TOML reads the same for strings, numbers, booleans and lists of strings. */
function toToml(value: Table[string]): string {
  return JSON.stringify(value)
}

const NOTE = '# Written by "svc setup codex --write"; "svc setup codex --remove" removes it.'

function makeSplices(text: string, settings: AgentSettings): readonly Splice[] {
  const outline = readToml(text)
  checkProvider(outline)
  const [top, ...tables] = toTables(settings)
  const toFile = (part: string) => toBytes(part.replaceAll('\n', lineEndOf(text)))
  const replaced = outline.keys.filter(({ name }) => name in top).reverse()
  const commented = replaced.map((key) => commentOut(text, key))
  const start = { at: startOf(text), removed: '', added: toFile(`${NOTE}\n${lines(top)}\n\n`) }
  const length = [...commented, start].reduce(
    (sum, { removed, added }) => sum + added.length - removed.length,
    text.length,
  )
  const end = { at: length, removed: '', added: toFile(`\n${NOTE}\n${providerTables(tables).join('\n\n')}\n`) }
  return [...commented, start, end]
}

function checkProvider({ keys, names }: TomlOutline): void {
  const taken = `model_providers.${PROVIDER}`
  if (names.some((name) => name === taken || name.startsWith(`${taken}.`)))
    throw new CommandError(`Your Codex settings have a [${taken}] already. Remove it first, then try again.`)
  // TOML allows no table to be added to one that is a value.
  if (keys.some(({ name }) => name === 'model_providers'))
    throw new CommandError(
      'The providers in your Codex settings are the value of model_providers. Make each a table first: ' +
        '[model_providers.NAME]',
    )
}

/** Turns the user's own key into a comment, because TOML allows each key once. */
function commentOut(text: string, { name, start, end }: TomlKey): Splice {
  const removed = text.slice(start, end)
  if (removed.includes('\n')) {
    throw new CommandError(`The value of ${name} in your Codex settings has several lines. Put it on one line first.`)
  }
  return { at: start, removed, added: `# svc setup replaced: ${removed}` }
}
