import { describe, expect, it } from 'vitest'
import {
  contextOfCredential,
  judgeAdminBackend,
  MAX_ADMIN_BACKENDS,
  readAdminCredential,
  readAdminBackend,
} from '../../src/directory/admin-backends.ts'
import type { AdminBackend, AdminBackendSettings } from '../../src/directory/admin-backends.ts'
import { writeMistakes } from '../../src/directory/mistakes.ts'
import { readAllowedHosts } from '../../src/kernel/network/allowed-hosts.ts'
import { teamOfBackend } from '../../src/kernel/backend-name.ts'
import { makeCipher, newEncryptionKey } from '../../src/kernel/credentials/cipher.ts'
import { Secret } from '../../src/kernel/secret.ts'

function hostsOf(text: string) {
  const hosts = readAllowedHosts(text)
  if (!hosts) throw new Error(`${text} was not read.`)
  return hosts
}

const cipher = makeCipher([newEncryptionKey()])
const hosts = hostsOf('api.vendor.example, eu.vendor.example, api.vendor.example:8443')
const id = { name: 'acme/core/vendor', teamId: 't' }
const encrypted = cipher.encrypt(new Secret('key-1'), contextOfCredential(id))
const backend: AdminBackend = {
  ...id,
  dialects: ['chat'],
  url: 'https://api.vendor.example/openai',
  basePath: '/v1',
  credential: { as: 'bearer', encrypted, setAt: new Date(0) },
}

const valid = { dialects: ['chat'], url: 'https://api.vendor.example' }

function settingsOf(given: object = {}): AdminBackendSettings {
  const read = readAdminBackend({ ...valid, ...given })
  if ('mistakes' in read) throw new Error(writeMistakes(read.mistakes))
  return read.settings
}

describe('readAdminBackend', () => {
  it('reads a URL without slashes at its end, and each dialect once', () => {
    expect(settingsOf({ url: 'https://API.vendor.example/a/', dialects: ['chat', 'chat'] })).toEqual({
      dialects: ['chat'],
      url: 'https://api.vendor.example/a',
      basePath: '/v1',
    })
    expect(settingsOf({ credential: { value: 'key-1' } }).credential).toMatchObject({ as: 'bearer' })
  })

  it.each([
    ['another scheme', { url: 'http://api.vendor.example' }, 'url: must be an https:// URL'],
    ['a user name', { url: 'https://root@api.vendor.example' }, 'url: must be an https:// URL'],
    ['a password', { url: 'https://:secret@api.vendor.example' }, 'url: must be an https:// URL'],
    ['a query', { url: 'https://api.vendor.example?a=1' }, 'url: must be an https:// URL'],
    ['a fragment', { url: 'https://api.vendor.example#a' }, 'url: must be an https:// URL'],
    ['a version', { url: 'https://api.vendor.example/v1/' }, 'url: must be an https:// URL'],
    ['another version', { url: 'https://api.vendor.example/v1beta/openai' }, 'url: must not end in a version'],
    ['a base path that leads elsewhere', { basePath: '/../v4' }, 'basePath: must be a path'],
    ['no URL', { url: 'api.vendor.example' }, 'url: must be an https:// URL'],
    ['no dialect', { dialects: [] }, 'dialects: must name at least one dialect'],
    ['an empty credential', { credential: { value: '' } }, 'credential.value: must have 1 to 4096'],
    ['a line break in a credential', { credential: { value: 'a\r\nb' } }, 'credential.value: must have 1 to 4096'],
    ['an unknown header', { credential: { value: 'a', as: 'cookie' } }, 'credential.as: must be one of'],
    ['an unknown field', { headers: {} }, 'headers: is not a known field'],
  ])('refuses %s', (_name, given, mistake) => {
    const read = readAdminBackend({ ...valid, ...given })
    expect('mistakes' in read && writeMistakes(read.mistakes)).toContain(mistake)
  })

  it('accepts a version in the URL where the base path is not /v1', () => {
    const url = 'https://api.vendor.example/v1beta'
    expect(settingsOf({ url, basePath: '/openai' })).toMatchObject({ url, basePath: '/openai' })
  })

  it('does not repeat a credential in a mistake', () => {
    const read = readAdminBackend({ ...valid, credential: { value: 'my secret', as: 'my secret' } })
    expect(JSON.stringify(read)).not.toContain('my secret')
  })
})

describe('judgeAdminBackend', () => {
  const judge = (name: string, given: object = {}, existing: readonly AdminBackend[] = [backend]) =>
    judgeAdminBackend(name, settingsOf(given), { team: '@acme/core', hosts, existing })

  it.each([
    ['a new backend', 'acme/core/new', {}],
    ['another path with the stored credential', id.name, { url: 'https://api.vendor.example/other' }],
    ['another host with a new credential', id.name, { url: 'https://eu.vendor.example', credential: { value: 'b' } }],
    ['another host without a credential', id.name, { url: 'https://eu.vendor.example', credential: null }],
  ])('allows %s', (_name, name, given) => expect(judge(name, given)).toBeNull())

  it.each([
    ['a name of another team', 'acme/other/vendor', {}, 'An example is acme/core/vendor.'],
    ['a name of the file', 'vendora', {}, 'name: must have'],
    ['a name with a slash', 'acme/core/a/b', {}, 'after the name of the team'],
    ['a host that is not listed', 'acme/core/new', { url: 'https://evil.example' }, 'api.vendor.example, eu.vendor'],
    ['a port that is not listed', 'acme/core/new', { url: 'https://api.vendor.example:444' }, 'these hosts only'],
    ['the stored credential for another host', id.name, { url: 'https://eu.vendor.example' }, 'credential: must be'],
    ['it for another port', id.name, { url: 'https://api.vendor.example:8443' }, 'credential: must be'],
  ])('refuses %s', (_name, name, given, message) => {
    expect(judge(name, given)).toMatchObject({ kind: 'invalid' })
    expect(writeMistakes(judge(name, given)?.mistakes ?? [])).toContain(message)
  })

  it('has a limit for each team, which does not keep a backend from being changed', () => {
    const full = Array.from({ length: MAX_ADMIN_BACKENDS }, (_, i) => ({ ...backend, name: `acme/core/b${i}` }))
    expect(judge('acme/core/new', {}, full)).toMatchObject({ kind: 'taken' })
    expect(judge('acme/core/b0', {}, full)).toBeNull()
  })
})

describe('readAdminCredential', () => {
  const problemOf = (given: AdminBackend, trust: Parameters<typeof readAdminCredential>[1] = { hosts, cipher }) => {
    const opened = readAdminCredential(given, trust)
    return 'problem' in opened ? opened.problem : (opened.secret?.reveal() ?? null)
  }

  it('decrypts the credential of a backend whose host is allowed', () => {
    expect(problemOf(backend)).toBe('key-1')
    expect(problemOf({ ...backend, credential: null })).toBeNull()
  })

  it('refuses what the operator does not allow any more', () => {
    expect(problemOf(backend, null)).toBe('host_not_allowed')
    expect(problemOf(backend, { hosts: hostsOf('eu.vendor.example'), cipher })).toBe('host_not_allowed')
  })

  it('does not open a credential with another key, in the row of another backend or of another team', () => {
    expect(problemOf(backend, { hosts, cipher: makeCipher([newEncryptionKey()]) })).toBe('credential_unreadable')
    expect(problemOf({ ...backend, name: 'acme/core/other' })).toBe('credential_unreadable')
    expect(problemOf({ ...backend, teamId: 'other' })).toBe('credential_unreadable')
  })
})

describe('teamOfBackend', () => {
  it.each([
    ['acme/core/vendor', '@acme/core'],
    ['vendora', null],
    ['local-engine', null],
    ['a/b', null],
  ])('of %s is %s', (name, team) => expect(teamOfBackend(name)).toBe(team))
})
