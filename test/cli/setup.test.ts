import { existsSync } from 'node:fs'
import { chmod, lstat, mkdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { hostname } from 'node:os'
import path from 'node:path'
import { parse } from 'yaml'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { bearerOf } from '../support/requests.ts'
import type { TestService } from '../support/service.ts'
import { startAtOwnAddress } from '../support/own-address.ts'
import { newMachine } from './machine.ts'
import type { Machine } from './machine.ts'

let service: TestService
let signedIn: Machine
beforeAll(async () => {
  service = await startAtOwnAddress({ SVC_POLL_INTERVAL_SECONDS: '1' })
  signedIn = await newMachine()
  await signedIn.signIn(service)
})
afterAll(async () => {
  await signedIn[Symbol.asyncDispose]()
  await service[Symbol.asyncDispose]()
})

const FILES = {
  codex: '.codex/config.toml',
  claude: '.claude/settings.json',
  opencode: '.config/opencode/opencode.json',
} as const
type Tool = keyof typeof FILES
const TOOLS = Object.keys(FILES) as Tool[]

const keyFileOf = (machine: Machine) => path.join(machine.home, '.config/svc/setup/opencode.key')
const fileOf = (machine: Machine, tool: Tool) => path.join(machine.home, FILES[tool])

async function put(file: string, content: string | Buffer): Promise<void> {
  await mkdir(path.dirname(file), { recursive: true })
  await writeFile(file, content)
}

async function setup(machine: Machine, ...args: string[]) {
  const ran = await machine.svc(['setup', ...args])
  if (ran.status !== 0) throw new Error(`svc setup failed: ${ran.stderr}`)
  return ran
}

const CODEX_OWN = `\ufeff# my settings
model = "gpt-6" # the good one
model_provider = 'openai'
notify = [
  ["a", "]"], # [not.a.table]
]
prompt = """
model = "not this one"
[nor.this]
"""

[tui]
model = "left alone"
[model_providers.other]
name = "Other"
`

const CLAUDE_OWN = `{
\t"model": "opus",
\t"env": {
\t\t"ANTHROPIC_BASE_URL": "https://elsewhere.example.com",
\t\t"MINE": "ü {}"
\t},
\t"permissions": { "allow": ["Bash(ls:*)"] }
}
`

const OPENCODE_OWN = `// my settings
{
  "$schema": "https://opencode.ai/config.json", /* { */
  "model": "anthropic/claude",
  "provider": { "mine": { "name": "Mine", }, },
}
`

const OWN: Readonly<Record<Tool, string>> = { codex: CODEX_OWN, claude: CLAUDE_OWN, opencode: OPENCODE_OWN }

describe('svc setup --write and --remove', () => {
  it.each(TOOLS)('leave the settings of %s as they were, to the byte', async (tool) => {
    await using machine = await newMachine(signedIn)
    const before = Buffer.from(OWN[tool])
    await put(fileOf(machine, tool), before)
    await setup(machine, tool, '--write')
    expect(await readFile(fileOf(machine, tool), 'utf8')).toContain(service.config.gatewayUrl)
    await setup(machine, tool, '--remove')
    expect(await readFile(fileOf(machine, tool))).toEqual(before)
  })

  it.each(TOOLS)('leave no file of %s where there was none', async (tool) => {
    await using machine = await newMachine(signedIn)
    await setup(machine, tool, '--write')
    expect((await stat(fileOf(machine, tool))).isFile()).toBe(true)
    await setup(machine, tool, '--remove')
    await expect(stat(fileOf(machine, tool))).rejects.toThrow('ENOENT')
  })

  it.each(TOOLS)('leave an empty file of %s empty', async (tool) => {
    await using machine = await newMachine(signedIn)
    await put(fileOf(machine, tool), ' \n')
    await setup(machine, tool, '--write')
    await setup(machine, tool, '--remove')
    expect(await readFile(fileOf(machine, tool), 'utf8')).toBe(' \n')
  })

  it('can be repeated with another model, and are removed once', async () => {
    await using machine = await newMachine(signedIn)
    await put(fileOf(machine, 'codex'), CODEX_OWN)
    await setup(machine, 'codex', '--write')
    await setup(machine, 'codex', '--write', '--model', 'vendorc/coder')
    const text = await readFile(fileOf(machine, 'codex'), 'utf8')
    expect(text.match(/^model = .*$/gm)).toEqual([
      'model = "vendorc/coder"',
      'model = "not this one"',
      'model = "left alone"',
    ])
    await setup(machine, 'codex', '--remove')
    expect(await readFile(fileOf(machine, 'codex'), 'utf8')).toBe(CODEX_OWN)
    expect((await setup(machine, 'codex', '--remove')).stdout).toBe('Nothing of svc is in the settings of codex.\n')
  })

  it.each([
    ['codex', (text: string) => `${text}\n[added]\nlater = 1\n`, (text: string) => `${text}\n[added]\nlater = 1\n`],
    [
      'claude',
      (text: string) => text.replace('"model": "opus"', '"model": "sonnet"'),
      (text: string) => text.replace('"model": "opus"', '"model": "sonnet"'),
    ],
  ] as const)('keep what was changed in the settings of %s in between', async (tool, change, expected) => {
    await using machine = await newMachine(signedIn)
    await put(fileOf(machine, tool), OWN[tool])
    await setup(machine, tool, '--write')
    await writeFile(fileOf(machine, tool), change(await readFile(fileOf(machine, tool), 'utf8')))
    await setup(machine, tool, '--remove')
    expect(await readFile(fileOf(machine, tool), 'utf8')).toBe(expected(OWN[tool]))
  })

  it.each(['codex', 'claude'] as const)('are none where svc setup ended before it wrote those of %s', async (tool) => {
    await using machine = await newMachine(signedIn)
    await put(fileOf(machine, tool), OWN[tool])
    await setup(machine, tool, '--write')
    // The record is saved before the file is written.
    await writeFile(fileOf(machine, tool), OWN[tool])
    await setup(machine, tool, '--remove')
    expect(await readFile(fileOf(machine, tool), 'utf8')).toBe(OWN[tool])
    expect((await setup(machine, tool, '--remove')).stdout).toBe(`Nothing of svc is in the settings of ${tool}.\n`)
  })

  it.each([
    ['codex', (text: string) => `${text}\n[added]\nlater = 1\n`, '\n[added]\nlater = 1\n'],
    ['claude', (text: string) => text.replace('{', '{\n  "theme": "dark",'), '{\n  "theme": "dark"\n}\n'],
  ] as const)('keep what was added to a file of %s that they have made', async (tool, add, expected) => {
    await using machine = await newMachine(signedIn)
    await setup(machine, tool, '--write')
    await writeFile(fileOf(machine, tool), add(await readFile(fileOf(machine, tool), 'utf8')))
    await setup(machine, tool, '--remove')
    expect(await readFile(fileOf(machine, tool), 'utf8')).toBe(expected)
  })

  it('say that nothing is left to remove after somebody has deleted the file', async () => {
    await using machine = await newMachine(signedIn)
    await setup(machine, 'codex', '--write')
    await rm(fileOf(machine, 'codex'))
    expect((await setup(machine, 'codex', '--remove')).stdout).toBe('Nothing of svc is in the settings of codex.\n')
    expect(existsSync(fileOf(machine, 'codex'))).toBe(false)
  })

  it('keep the comments and white space around them when something else was changed in between', async () => {
    await using machine = await newMachine(signedIn)
    const own = '{ // mine\n\n  "theme": "x", "provider": {   "mine": {} }\n}\n'
    await put(fileOf(machine, 'opencode'), own)
    await setup(machine, 'opencode', '--write')
    const change = (text: string) => text.replace('"theme": "x"', '"theme": "y"')
    await writeFile(fileOf(machine, 'opencode'), change(await readFile(fileOf(machine, 'opencode'), 'utf8')))
    await setup(machine, 'opencode', '--remove')
    expect(await readFile(fileOf(machine, 'opencode'), 'utf8')).toBe(change(own))
  })

  it.each(['claude', 'opencode'] as const)('are removed where %s has added a setting behind them', async (tool) => {
    await using machine = await newMachine(signedIn)
    const file = fileOf(machine, tool)
    await put(file, '{}\n')
    await setup(machine, tool, '--write')
    const settings = JSON.parse(await readFile(file, 'utf8')) as object
    await writeFile(file, JSON.stringify({ ...settings, theme: 'dark' }, null, 2))
    await setup(machine, tool, '--remove')
    expect(JSON.parse(await readFile(file, 'utf8'))).toEqual({ theme: 'dark' })
  })

  it('leave providers of Codex with dotted names as they are', async () => {
    await using machine = await newMachine(signedIn)
    const own = 'model_providers.mine.name = "x"\n'
    await put(fileOf(machine, 'codex'), own)
    await setup(machine, 'codex', '--write')
    expect(await readFile(fileOf(machine, 'codex'), 'utf8')).toContain(`${own}\n# Written`)
    await setup(machine, 'codex', '--remove')
    expect(await readFile(fileOf(machine, 'codex'), 'utf8')).toBe(own)
  })

  it('are replaced and removed after somebody has chosen a model in Codex, which writes it into them', async () => {
    await using machine = await newMachine(signedIn)
    const file = fileOf(machine, 'codex')
    const choose = async (effort: string) => {
      const text = await readFile(file, 'utf8')
      const chosen = text
        .replace(/^model = .*$/m, 'model = "vendora/large"')
        .replace('model_provider = "svc"\n', `model_provider = "svc"\n${effort}`)
      await writeFile(file, chosen)
    }
    await put(file, CODEX_OWN)
    await setup(machine, 'codex', '--write')
    await choose('model_reasoning_effort = "high"\n')
    await setup(machine, 'codex', '--write')
    expect((await readFile(file, 'utf8')).match(/^model = .*$/m)?.[0]).toBe('model = "svc/fast"')
    await choose('')
    await setup(machine, 'codex', '--remove')
    const own = CODEX_OWN.replace('\ufeff', '\ufeffmodel_reasoning_effort = "high"\n\n')
    expect(await readFile(file, 'utf8')).toBe(own)
  })

  it('leave a file alone whose written lines were changed, and say which to remove by hand', async () => {
    await using machine = await newMachine(signedIn)
    const file = fileOf(machine, 'codex')
    await setup(machine, 'codex', '--write')
    const changed = (await readFile(file, 'utf8')).replace('wire_api = ', 'wire_api   = ')
    await writeFile(file, changed)
    const ran = await machine.svc(['setup', 'codex', '--remove'])
    expect(ran.status).toBe(1)
    expect(ran.stderr).toMatch(new RegExp(`^${file} was changed where svc wrote .* Remove these lines by hand:$`, 'm'))
    expect(await readFile(file, 'utf8')).toBe(changed)
  })

  it('remove the settings after the tool has rewritten its file, and name those that were changed', async () => {
    await using machine = await newMachine(signedIn)
    const file = fileOf(machine, 'claude')
    await put(file, CLAUDE_OWN)
    await setup(machine, 'claude', '--write', '--model', 'svc/fast')
    type Settings = { env: Record<string, string>; theme?: string }
    const settings = JSON.parse(await readFile(file, 'utf8')) as Settings
    settings.theme = 'dark'
    settings.env['ANTHROPIC_MODEL'] = 'vendorb/writer'
    await writeFile(file, JSON.stringify(settings))
    const { stderr } = await setup(machine, 'claude', '--remove')
    expect(stderr).toBe('These stay, because they were changed since: env.ANTHROPIC_MODEL\n')
    const own = JSON.parse(CLAUDE_OWN) as Settings
    const expected = { ...own, theme: 'dark', env: { ...own.env, ANTHROPIC_MODEL: 'vendorb/writer' } }
    expect(JSON.parse(await readFile(file, 'utf8'))).toEqual(expected)
  })

  it('keep a link to a file that does not exist yet', async () => {
    await using machine = await newMachine(signedIn)
    const [link, target] = [fileOf(machine, 'claude'), path.join(machine.home, 'dotfiles/claude.json')]
    await mkdir(path.dirname(link))
    await symlink('../dotfiles/claude.json', link)
    await setup(machine, 'claude', '--write')
    expect(await readFile(target, 'utf8')).toContain('apiKeyHelper')
    await setup(machine, 'claude', '--remove')
    expect((await lstat(link)).isSymbolicLink()).toBe(true)
    await expect(stat(target)).rejects.toThrow('ENOENT')
  })

  it('keep bytes that are not UTF-8, CRLF, the mode of the file, and a link to it', async () => {
    await using machine = await newMachine(signedIn)
    const real = path.join(machine.home, 'dotfiles/config.toml')
    const before = Buffer.concat([Buffer.from('a = 1\r\n# '), Buffer.from([0xff, 0xfe, 0x0d, 0x0a])])
    await mkdir(path.dirname(real))
    await writeFile(real, before)
    await chmod(real, 0o666)
    await mkdir(path.dirname(fileOf(machine, 'codex')))
    await symlink(real, fileOf(machine, 'codex'))
    await setup(machine, 'codex', '--write')
    expect((await readFile(real, 'latin1')).replaceAll('\r\n', '')).not.toContain('\n')
    expect((await lstat(fileOf(machine, 'codex'))).isSymbolicLink()).toBe(true)
    await setup(machine, 'codex', '--remove')
    expect([await readFile(real), (await stat(real)).mode & 0o777]).toEqual([before, 0o666])
  })

  it.each([
    ['claude', '{ "env": ', 'cannot be read'],
    ['claude', '{ "env": [] }', 'cannot be read: there is no object'],
    ['codex', 'model = \n= 3', 'cannot be read'],
    ['codex', 'model = """\nx"""\n', 'has several lines. Put it on one line first.'],
    ['codex', '[model_providers.svc]\nname = "x"\n', 'have a [model_providers.svc] already'],
    ['codex', 'model_providers.svc.name = "x"\n', 'have a [model_providers.svc] already'],
    ['codex', '[model_providers]\nsvc = { name = "x" }\n', 'have a [model_providers.svc] already'],
    ['codex', 'model_providers = { mine = { name = "x" } }\n', 'Make each a table first'],
  ] as const)('change nothing in the settings of %s that are %j', async (tool, text, message) => {
    await using machine = await newMachine(signedIn)
    await put(fileOf(machine, tool), text)
    const ran = await machine.svc(['setup', tool, '--write'])
    expect(ran.status).toBe(1)
    expect(ran.stderr).toContain(message)
    expect(await readFile(fileOf(machine, tool), 'utf8')).toBe(text)
    expect((await setup(machine, tool, '--remove')).stdout).toContain('Nothing of svc')
  })

  it.each([
    ['claude', '{', '{{'],
    ['codex', '# Written', '[broken\n# Written'],
    ['opencode', '{', '{{'],
  ] as const)('keep earlier settings of %s when its file is not valid any more', async (tool, part, broken) => {
    await using machine = await newMachine(signedIn)
    const file = fileOf(machine, tool)
    await put(file, OWN[tool])
    await setup(machine, tool, '--write')
    const valid = await readFile(file, 'utf8')
    const invalid = valid.replace(part, broken)
    await writeFile(file, invalid)
    const ran = await machine.svc(['setup', tool, '--write'])
    expect([ran.status, ran.stderr]).toEqual([1, expect.stringContaining(`${file} cannot be read: `)])
    expect(await readFile(file, 'utf8')).toBe(invalid)
    await writeFile(file, valid)
    await setup(machine, tool, '--remove')
    expect(await readFile(file, 'utf8')).toBe(OWN[tool])
  })

  it.each(['claude', 'opencode'] as const)('say which file of %s cannot be read, and remove nothing', async (tool) => {
    await using machine = await newMachine(signedIn)
    await setup(machine, tool, '--write')
    const invalid = (await readFile(fileOf(machine, tool), 'utf8')).replace('{', '{{')
    await writeFile(fileOf(machine, tool), invalid)
    const ran = await machine.svc(['setup', tool, '--remove'])
    expect([ran.status, ran.stderr]).toEqual([1, expect.stringContaining(`${fileOf(machine, tool)} cannot be read: `)])
    expect(await readFile(fileOf(machine, tool), 'utf8')).toBe(invalid)
  })

  it('go into a file that was emptied after they had been written', async () => {
    await using machine = await newMachine(signedIn)
    await setup(machine, 'claude', '--write')
    const written = await readFile(fileOf(machine, 'claude'), 'utf8')
    await writeFile(fileOf(machine, 'claude'), '\n')
    await setup(machine, 'claude', '--write')
    expect(await readFile(fileOf(machine, 'claude'), 'utf8')).toBe(written)
  })

  it('are in the home of Codex when CODEX_HOME is empty, and at an absolute path when it is relative', async () => {
    await using machine = await newMachine(signedIn)
    const write = (CODEX_HOME: string) =>
      machine.svc(['setup', 'codex', '--write'], { env: { CODEX_HOME } }).then(({ stdout }) => stdout)
    expect(await write('')).toContain(`Written into ${fileOf(machine, 'codex')}.`)
    const other = path.join(machine.home, 'other')
    expect(await write(path.relative('.', other))).toContain(`Written into ${path.join(other, 'config.toml')}.`)
  })

  it('leave the file that they were in when they go into another one', async () => {
    await using machine = await newMachine(signedIn)
    await put(fileOf(machine, 'codex'), CODEX_OWN)
    await setup(machine, 'codex', '--write')
    const ran = await machine.svc(['setup', 'codex', '--write'], { env: { CODEX_HOME: machine.home } })
    expect(ran.stderr).toBe('')
    expect(await readFile(path.join(machine.home, 'config.toml'), 'utf8')).toContain(service.config.gatewayUrl)
    expect(await readFile(fileOf(machine, 'codex'), 'utf8')).toBe(CODEX_OWN)
  })
})

describe('what svc setup writes', () => {
  it('for Codex: the provider with its token command; own keys become comments', async () => {
    await using machine = await newMachine(signedIn)
    await put(fileOf(machine, 'codex'), CODEX_OWN)
    await setup(machine, 'codex', '--write')
    const text = await readFile(fileOf(machine, 'codex'), 'utf8')
    expect(text.startsWith('\ufeff# Written by "svc setup codex --write"')).toBe(true)
    expect(text).toContain('\n# svc setup replaced: model = "gpt-6" # the good one\n')
    expect(text).toContain(`\nbase_url = "${service.config.gatewayUrl}/codex/v1"\n`)
    expect(text).toContain(`\nmodel_catalog_url = "${service.config.gatewayUrl}/codex/v1/models"\n`)
    expect(text).toMatch(
      /\[model_providers\.svc\.auth\]\ncommand = "\/.*"\nargs = \["\/.*package-entry\.ts","token","--url",/,
    )
  })

  it('for Claude Code: the helper, and no models, because its names are aliases', async () => {
    await using machine = await newMachine(signedIn)
    await setup(machine, 'claude', '--write')
    const { env } = JSON.parse(await readFile(fileOf(machine, 'claude'), 'utf8')) as { env: object }
    expect(Object.keys(env)).toEqual(['ANTHROPIC_BASE_URL', 'CLAUDE_CODE_API_KEY_HELPER_TTL_MS'])
  })

  it('for Claude Code: own variables for another service are empty until the settings are removed', async () => {
    await using machine = await newMachine(signedIn)
    const own = JSON.stringify({ env: { ANTHROPIC_AUTH_TOKEN: 'theirs', CLAUDE_CODE_USE_BEDROCK: '1', MINE: 'x' } })
    await put(fileOf(machine, 'claude'), own)
    await setup(machine, 'claude', '--write')
    const { env } = JSON.parse(await readFile(fileOf(machine, 'claude'), 'utf8')) as { env: Record<string, string> }
    expect(env).toMatchObject({ ANTHROPIC_AUTH_TOKEN: '', CLAUDE_CODE_USE_BEDROCK: '', MINE: 'x' })
    expect(env).not.toHaveProperty('ANTHROPIC_API_KEY')
    await setup(machine, 'claude', '--remove')
    expect(await readFile(fileOf(machine, 'claude'), 'utf8')).toBe(own)
  })

  it('for Claude Code: the chosen model for each of its names', async () => {
    await using machine = await newMachine(signedIn)
    await put(fileOf(machine, 'claude'), CLAUDE_OWN)
    await setup(machine, 'claude', '--write', '--model', 'svc/fast')
    const settings = JSON.parse(await readFile(fileOf(machine, 'claude'), 'utf8')) as {
      apiKeyHelper: string
      env: Record<string, string>
    }
    expect(settings.env).toMatchObject({
      ANTHROPIC_BASE_URL: `${service.config.gatewayUrl}/vendorb`,
      ANTHROPIC_MODEL: 'svc/fast',
      ANTHROPIC_DEFAULT_HAIKU_MODEL: 'svc/fast',
      MINE: 'ü {}',
    })
    expect(settings.apiKeyHelper).toMatch(/package-entry\.ts token --url http:\/\/localhost:\d+$/)
  })

  it('for opencode: a provider with every model of the team', async () => {
    await using machine = await newMachine(signedIn)
    await setup(machine, 'opencode', '--write')
    expect(JSON.parse(await readFile(fileOf(machine, 'opencode'), 'utf8'))).toMatchObject({
      model: 'svc/svc/fast',
      provider: {
        svc: {
          options: { baseURL: `${service.config.gatewayUrl}/v1`, apiKey: `{file:${keyFileOf(machine)}}` },
          models: {
            'svc/fast': { name: 'Fast', modalities: { input: ['text', 'image'] } },
            'vendora/large': { name: 'Large' },
          },
        },
      },
    })
  })

  it('for opencode: an API key of its own, which is named for it, kept at the next time, and revoked', async () => {
    await using machine = await newMachine(signedIn)
    const listed = async () =>
      JSON.parse((await machine.svc(['keys', '--json'])).stdout) as { id: string; name: string }[]
    const before = await listed()
    await setup(machine, 'opencode', '--write', '--days', '3')
    const [made, ...others] = await listed()
    expect([made?.name, others]).toEqual([`opencode on ${hostname()}`, before])
    const key = await readFile(keyFileOf(machine), 'utf8')
    expect((await stat(keyFileOf(machine))).mode & 0o777).toBe(0o600)
    const models = () => service.fetch('/v1/models', { headers: bearerOf(key) })
    expect((await models()).status).toBe(200)

    // A key of three days ends soon, so the next setup makes another; that one is kept.
    await setup(machine, 'opencode', '--write')
    expect((await models()).status).toBe(401)
    const [lasting] = await listed()
    const { stderr } = await setup(machine, 'opencode', '--write', '--model', 'vendora/large')
    expect(stderr).toContain(`Its API key is "opencode on ${hostname()}"`)
    expect((await listed()).map(({ id }) => id)).toEqual([lasting?.id, ...before.map(({ id }) => id)])

    await setup(machine, 'opencode', '--remove')
    expect(await listed()).toEqual(before)
    expect([keyFileOf(machine), `${keyFileOf(machine)}.json`].filter(existsSync)).toEqual([])
  })

  it('makes another API key for opencode where somebody has revoked its own, and removes such a key too', async () => {
    await using machine = await newMachine(signedIn)
    const listed = async () => JSON.parse((await machine.svc(['keys', '--json'])).stdout) as { id: string }[]
    await machine.svc(['keys', 'create', 'other', '--print'])
    const before = await listed()
    await setup(machine, 'opencode', '--write')
    await machine.svc(['keys', 'revoke', (await listed())[0]?.id ?? ''])
    expect((await setup(machine, 'opencode', '--write')).stderr).not.toContain('could not be revoked')
    const [made, ...others] = await listed()
    expect(others).toEqual(before)
    await machine.svc(['keys', 'revoke', made?.id ?? ''])
    expect((await setup(machine, 'opencode', '--remove')).stderr).toBe('')
    await machine.svc(['keys', 'revoke', before[0]?.id ?? ''])
  })

  it('makes one API key for opencode where two setups run at once', async () => {
    await using machine = await newMachine(signedIn)
    const { stdout: before } = await machine.svc(['keys', '--json'])
    await Promise.all([setup(machine, 'opencode', '--write'), setup(machine, 'opencode', '--write')])
    await setup(machine, 'opencode', '--remove')
    expect((await machine.svc(['keys', '--json'])).stdout).toBe(before)
  })

  it('leaves no API key behind where the settings of opencode cannot be written', async () => {
    await using machine = await newMachine(signedIn)
    const { stdout: before } = await machine.svc(['keys', '--json'])
    await put(fileOf(machine, 'opencode'), '{ "provider": [] }')
    const ran = await machine.svc(['setup', 'opencode', '--write'])
    expect([ran.status, ran.stderr]).toEqual([1, expect.stringContaining('cannot be read')])
    await expect(stat(keyFileOf(machine))).rejects.toThrow('ENOENT')
    expect((await machine.svc(['keys', '--json'])).stdout).toBe(before)
  })

  it('leaves no API key behind where it cannot be stored, and keeps the earlier one', async () => {
    await using machine = await newMachine(signedIn)
    const { stdout: none } = await machine.svc(['keys', '--json'])
    await mkdir(keyFileOf(machine), { recursive: true })
    expect((await machine.svc(['setup', 'opencode', '--write'])).status).toBe(1)
    expect((await machine.svc(['keys', '--json'])).stdout).toBe(none)

    await rm(keyFileOf(machine), { recursive: true })
    await setup(machine, 'opencode', '--write')
    const { stdout: before } = await machine.svc(['keys', '--json'])
    await rm(keyFileOf(machine))
    await mkdir(keyFileOf(machine))
    const ran = await machine.svc(['setup', 'opencode', '--write', '--days', '3'])
    expect([ran.status, ran.stderr]).toEqual([1, expect.stringContaining('it is a directory')])
    expect((await machine.svc(['keys', '--json'])).stdout).toBe(before)
    const { id } = JSON.parse(await readFile(`${keyFileOf(machine)}.json`, 'utf8')) as { id: string }
    expect(before).toContain(id)
    await machine.svc(['keys', 'revoke', id])
  })

  it('leaves earlier settings of opencode a key that works when they cannot be written again', async () => {
    await using machine = await newMachine(signedIn)
    await setup(machine, 'opencode', '--write')
    const valid = await readFile(fileOf(machine, 'opencode'), 'utf8')
    await writeFile(fileOf(machine, 'opencode'), valid.replace('{', '{{'))
    const ran = await machine.svc(['setup', 'opencode', '--write', '--days', '3'])
    expect([ran.status, ran.stderr]).toEqual([1, expect.stringContaining('cannot be read')])
    const key = await readFile(keyFileOf(machine), 'utf8')
    const res = await service.fetch('/v1/models', { headers: bearerOf(key) })
    expect(res.status).toBe(200)
    await writeFile(fileOf(machine, 'opencode'), valid)
    await setup(machine, 'opencode', '--remove')
  })

  it('never lets the settings of opencode for one deployment name the API key of another', async () => {
    await using machine = await newMachine(signedIn)
    await setup(machine, 'opencode', '--write')
    const record = `${keyFileOf(machine)}.json`
    const { id } = JSON.parse(await readFile(record, 'utf8')) as { id: string }
    await writeFile(record, JSON.stringify({ url: 'https://earlier.example', id, account: 'ada@example.com' }))
    const key = await readFile(keyFileOf(machine), 'utf8')
    await writeFile(fileOf(machine, 'opencode'), '{ not JSON')
    const ran = await machine.svc(['setup', 'opencode', '--write'])
    expect([ran.status, ran.stderr]).toEqual([1, expect.stringContaining('cannot be read')])
    expect(await readFile(keyFileOf(machine), 'utf8')).toBe(key)
    await machine.svc(['keys', 'revoke', id])
  })

  it.each([
    ['opencode.json', '[]', 'Remove that by hand'],
    ['opencode.json', '{"file":"/tmp/settings.json"}', 'Remove that by hand'],
    ['opencode.key.json', '[]', 'revoke the key: svc keys'],
    ['opencode.key.json', '{"url":"","id":"","account":""}', 'revoke the key: svc keys'],
  ])('says which record is damaged, and what to do: %s with %s', async (name, damaged, advice) => {
    await using machine = await newMachine(signedIn)
    const record = path.join(path.dirname(keyFileOf(machine)), name)
    await put(record, damaged)
    const ran = await machine.svc(['setup', 'opencode', '--remove'])
    expect(ran).toMatchObject({ status: 1, stderr: expect.stringContaining(`${record} is damaged.`) as string })
    expect(ran.stderr).toContain(advice)
  })

  it('takes the settings of opencode out without the deployment, and says that the key may still work', async () => {
    await using machine = await newMachine(signedIn)
    await setup(machine, 'opencode', '--write')
    await rm(machine.tokensOf(service))
    const ran = await machine.svc(['setup', 'opencode', '--remove'])
    expect([ran.status, ran.stderr]).toEqual([
      3,
      expect.stringMatching(/could not be revoked: .*svc keys revoke \S+ --url/),
    ])
    await expect(stat(fileOf(machine, 'opencode'))).rejects.toThrow('ENOENT')
    await expect(stat(keyFileOf(machine))).rejects.toThrow('ENOENT')
  })

  it.each([
    ['--remove', 1],
    ['--write', 0],
  ])('says in %s that the API key of opencode is of another account, and how to revoke it', async (flag, status) => {
    // Not a copy of `signedIn`, whose session another sign-in of the same device would end.
    await using machine = await newMachine()
    await machine.signIn(service)
    await setup(machine, 'opencode', '--write')
    const key = await readFile(keyFileOf(machine), 'utf8')
    const models = () => service.fetch('/v1/models', { headers: bearerOf(key) })
    await machine.svc(['invite', 'grace@example.com'])
    await machine.signIn(service, 'grace@example.com')
    const ran = await machine.svc(['setup', 'opencode', flag])
    expect([ran.status, ran.stderr]).toEqual([status, expect.stringContaining('It belongs to ada@example.com.')])

    await machine.signIn(service)
    expect((await models()).status).toBe(200)
    const id = /svc keys revoke (\S+)/.exec(ran.stderr)?.[1] ?? ''
    expect((await machine.svc(['keys', 'revoke', id])).status).toBe(0)
    expect((await models()).status).toBe(401)
  })

  it('gives opencode a key that works, and says that one of another deployment could not be revoked', async () => {
    await using machine = await newMachine(signedIn)
    await setup(machine, 'opencode', '--write')
    const record = `${keyFileOf(machine)}.json`
    const { id } = JSON.parse(await readFile(record, 'utf8')) as { id: string }
    const left = 'https://left.example'
    await writeFile(record, JSON.stringify({ url: left, id, account: 'ada@example.com' }))
    const { stderr } = await setup(machine, 'opencode', '--write')
    expect(stderr).toMatch(
      new RegExp(`^The earlier API key of opencode could not be revoked: .* keys revoke ${id} --url ${left}$`, 'm'),
    )
    const key = await readFile(keyFileOf(machine), 'utf8')
    const res = await service.fetch('/v1/models', { headers: bearerOf(key) })
    expect(res.status).toBe(200)
    await setup(machine, 'opencode', '--remove')
    await machine.svc(['keys', 'revoke', id])
  })

  it('goes into opencode.jsonc where that exists, because opencode reads it after opencode.json', async () => {
    await using machine = await newMachine(signedIn)
    const json = fileOf(machine, 'opencode')
    await put(json, OPENCODE_OWN)
    await put(`${json}c`, OPENCODE_OWN)
    await setup(machine, 'opencode', '--write')
    expect(await readFile(`${json}c`, 'utf8')).toContain('"svc/svc/fast"')
    expect(await readFile(json, 'utf8')).toBe(OPENCODE_OWN)
    const printed = await machine.svc(['setup', 'opencode'], { env: { OPENCODE_CONFIG: '/etc/opencode.json' } })
    expect(printed.stderr).toContain('These are settings for /etc/opencode.json.')
  })

  it.each(TOOLS)('for %s is printed without an option, and nothing is written', async (tool) => {
    await using machine = await newMachine(signedIn)
    const { stdout, stderr } = await setup(machine, tool)
    expect(stdout).toContain(service.config.gatewayUrl)
    expect(stderr).toContain(`svc setup ${tool} --write`)
    await expect(stat(fileOf(machine, tool))).rejects.toThrow('ENOENT')
  })

  it.each([
    ['claude-mine', { 'claude-mine': { name: 'claude-mine' }, 'svc/fast': { name: 'Fast' } }],
    ['svc/fast', { 'svc/fast': { name: 'Fast' } }],
  ])('for opencode list the model %s, because opencode starts only with a listed one', async (model, models) => {
    const { stdout } = await setup(signedIn, 'opencode', '--model', model)
    expect(JSON.parse(stdout)).toMatchObject({ model: `svc/${model}`, provider: { svc: { models } } })
  })

  it.each(['zed', 'continue', 'cursor'])('for %s: the address and the models, and how to make a key', async (tool) => {
    const { stdout, stderr } = await setup(signedIn, tool)
    expect(stdout).toContain(`${service.config.gatewayUrl}/v1`)
    expect(stdout).toContain('vendora/large')
    expect(stderr).toContain(`svc keys create "${tool} on ${hostname()}" --print`)
    if (tool === 'zed') expect(() => JSON.parse(stdout) as unknown).not.toThrow()
    if (tool === 'continue') expect(parse(stdout)).toHaveProperty('models.0.provider', 'openai')
  })

  it('for Claude Code on Windows: a token command that cmd.exe understands', async () => {
    const script = String.raw`C:\Program Files\svc\svc.js`
    const { stdout } = await signedIn.svc(['setup', 'claude'], { environment: { platform: 'win32', script } })
    const { apiKeyHelper } = JSON.parse(stdout) as { apiKeyHelper: string }
    expect(apiKeyHelper).toBe(`${process.execPath} "${script}" token --url ${service.config.baseUrl}`)
  })

  it('nothing where npx runs the command, because npx deletes it later', async () => {
    const script = path.join(signedIn.home, '_npx', '1', 'svc.js')
    await put(script, '')
    const ran = await signedIn.svc(['setup', 'codex', '--write'], { environment: { script } })
    expect([ran.status, ran.stderr]).toEqual([1, expect.stringContaining('npm install -g, with the package')])
    expect(existsSync(fileOf(signedIn, 'codex'))).toBe(false)
  })

  it.each<[string, Record<string, string>, string]>([
    ['PowerShell', {}, '$env:OPENAI_BASE_URL = '],
    ['a POSIX shell', { SHELL: '/usr/bin/bash' }, 'export OPENAI_BASE_URL='],
  ])('for other tools on Windows, in %s', async (_, env, start) => {
    const { stdout } = await signedIn.svc(['setup', 'openai'], { environment: { platform: 'win32' }, env })
    expect(stdout).toMatch(start)
  })

  it('for other tools: two variables for the shell', async () => {
    const { stdout } = await setup(signedIn, 'openai')
    const url = service.config.gatewayUrl
    expect(stdout).toBe(`export OPENAI_BASE_URL=${url}/v1\nexport OPENAI_API_KEY="$(svc token --new --url ${url})"\n`)
  })
})

it('svc doctor finds the settings that name an earlier address of the gateway', async () => {
  await using machine = await newMachine(signedIn)
  for (const tool of TOOLS) {
    await machine.install(tool, '')
    await setup(machine, tool, '--write')
    const file = path.join(machine.home, '.config/svc/setup', `${tool}.json`)
    const record = JSON.parse(await readFile(file, 'utf8')) as { start: object }
    const start = { ...record.start, gatewayUrl: 'http://earlier.example' }
    await writeFile(file, JSON.stringify({ ...record, start }))
  }
  await setup(machine, 'codex', '--write')
  const { stdout } = await machine.svc(['doctor'])
  expect(stdout).toMatch(/^ok +codex /m)
  const now = `It is ${service.config.gatewayUrl} now. Run: svc setup`
  expect(stdout).toMatch(new RegExp(`^problem +claude .* ${now} claude --write$`, 'm'))
  expect(stdout).toMatch(new RegExp(`^problem +opencode .* ${now} opencode --write$`, 'm'))
  await rm(fileOf(machine, 'codex'))
  expect((await machine.svc(['doctor'])).stdout).toMatch(
    /^warning +codex +\S+config\.toml, which svc setup wrote, does not exist any more\. Run: svc setup codex --write$/m,
  )
})

it('svc doctor finds the settings whose model the team may not call any more', async () => {
  await using own = await startAtOwnAddress({ SVC_POLL_INTERVAL_SECONDS: '1' })
  await using machine = await newMachine()
  await machine.signIn(own)
  await machine.install('codex', '')
  await machine.install('claude', '')
  const doctor = async () => (await machine.svc(['doctor'])).stdout
  await machine.svc(['models', 'add', 'leaving', '--serve', 'local-engine=qwen3:8b'])
  own.clock.advance({ seconds: 10 })
  await setup(machine, 'codex', '--write', '--model', 'acme/core/leaving')
  await setup(machine, 'claude', '--write', '--model', 'acme/core/leaving[1m]')
  expect(await doctor()).toMatch(/^ok +codex .*\nok +claude /m)
  await machine.svc(['models', 'remove', 'leaving'])
  own.clock.advance({ seconds: 10 })
  await expect.poll(doctor).toMatch(/^problem +codex +svc setup wrote the model acme\/core\/leaving .* codex --write$/m)
  expect(await doctor()).toMatch(/^problem +claude +svc setup wrote the model acme\/core\/leaving .* claude --write$/m)
})
