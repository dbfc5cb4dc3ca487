import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import path from 'node:path'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { newMachine } from './machine.ts'

const COMMAND = path.join(import.meta.dirname, '../../src/cli/package-entry.ts')
const BASH = '/bin/bash'

it.each([
  [['ke'], 'keys'],
  [['keys', ''], 'create rotate revoke'],
  [['keys', 'create', '--mo'], '--model'],
  [['keys', '-'], '--service --team --json --help --url --version'],
  [['--url', 'http://localhost:1', 'mod'], 'models'],
  [['run', ''], 'codex claude opencode'],
  [['run', 'claude', '--', '--m'], ''],
  [['members', 'role', 'ada@example.com', ''], 'member admin'],
  [['usage', '--by', 'd'], 'day dialect'],
  [['usage', '--by', '=', 'd'], 'day dialect'],
  [['usage', '--by=d'], '--by=day --by=dialect'],
  [['usage', '--by', '='], 'day model member key backend dialect'],
  [['keys', 'create', '--model', ''], ''],
  [['help', 'keys', 'cr'], 'create'],
  [['--url', 'http', ':', '//localhost', ':', '1', 'mod'], 'models'],
])('the last of the words %j can be: %s', async (words, expected) => {
  await using machine = await newMachine()
  const { status, stdout } = await machine.svc(['completion', 'bash', '--', ...words])
  expect([status, stdout.trim().split('\n').join(' ')]).toEqual([0, expected])
})

it.runIf(existsSync(BASH))('bash runs the script, and asks the command what a word can be', async () => {
  await using machine = await newMachine()
  await machine.install('svc', `import(${JSON.stringify(COMMAND)})`)
  const script = `
    eval "$(svc completion bash)"
    complete -p svc
    COMP_WORDS=(svc keys ''); COMP_CWORD=2
    _svc svc '' keys
    printf '%s.' "\${COMPREPLY[@]}"`
  const { NODE_COMPILE_CACHE } = process.env
  const env = { HOME: machine.home, PATH: path.join(machine.home, 'bin'), NODE_COMPILE_CACHE }
  const { stdout, stderr } = await promisify(execFile)(BASH, ['--norc', '-c', script], { env })
  expect([stdout, stderr]).toEqual(['complete -o default -F _svc svc\ncreate.rotate.revoke.', ''])
})

it.each(['bash', 'zsh', 'fish'])('prints the script of %s, which asks for its words', async (shell) => {
  await using machine = await newMachine()
  expect((await machine.svc(['completion', shell])).stdout).toContain(` completion ${shell} -- `)
})
