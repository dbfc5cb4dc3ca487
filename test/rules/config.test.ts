import { describe, expect, it } from 'vitest'
import { ConfigError, isLoopback, readConfig, SETTING_NAMES, warningsOf } from '../../src/config.ts'

type Environment = Record<string, string>

/** Every mistake that readConfig finds; none where it is content. */
function mistakesOf(env: Environment): readonly string[] {
  try {
    readConfig(env)
    return []
  } catch (error) {
    if (error instanceof ConfigError) return error.mistakes
    throw error
  }
}

describe('readConfig', () => {
  it('needs nothing: everything that is not configured is null', () => {
    expect(readConfig({})).toMatchObject({
      role: 'all',
      host: '127.0.0.1',
      port: 8787,
      baseUrl: 'http://localhost:8787',
      gatewayUrl: 'http://localhost:8787',
      database: { kind: 'embedded', directory: '.data/db' },
      mail: null,
      engine: null,
      directoryFile: null,
      login: { loginSeconds: 600, pollIntervalSeconds: 5, approvalMode: 'click', devLinks: false },
      tokens: { accessTokenSeconds: 900, refreshIdleDays: 30, refreshAbsoluteDays: 90, refreshReplaySeconds: 30 },
      upstreams: { vendora: null, vendorb: null, vendorc: null },
    })
  })

  it('takes an empty setting for one that is not set', () => {
    expect(readConfig({ SVC_MAIL_URL: '', SVC_PORT: '' })).toMatchObject({ mail: null, port: 8787 })
  })

  it.each<[string, Environment, object]>([
    ['a gateway has no database unless it is given one', { SVC_ROLE: 'gateway' }, { database: null }],
    [
      'a gateway asks the control plane at its public address for keys',
      { SVC_ROLE: 'gateway', SVC_BASE_URL: 'https://a.example/' },
      { verification: { controlPlaneUrl: 'https://a.example', keysFile: '.data/gateway-keys.json' } },
    ],
    [
      'model calls are limited, and nobody counts them for metrics',
      {},
      { callLimits: { requestsPerMinute: 600, streams: 64 }, metricsPort: null },
    ],
    ['a limit of 0 is off', { SVC_LIMIT_STREAMS: '0' }, { callLimits: { requestsPerMinute: 600, streams: 0 } }],
    ['a base URL loses its slashes', { SVC_BASE_URL: 'https://a.example/x//' }, { baseUrl: 'https://a.example/x' }],
    ['a base URL follows the port', { SVC_PORT: '9000' }, { baseUrl: 'http://localhost:9000' }],
    [
      'the gateway is where the control plane is',
      { SVC_BASE_URL: 'https://a.example' },
      { gatewayUrl: 'https://a.example' },
    ],
    [
      'mail comes from the base URL’s host',
      { SVC_BASE_URL: 'https://a.example', SVC_MAIL_URL: 'smtp://mail:25' },
      { mail: { kind: 'smtp', from: 'svc@a.example' } },
    ],
    [
      'origins are a list',
      { SVC_ALLOWED_ORIGINS: 'https://a.example, http://b.example:81' },
      { allowedOrigins: ['https://a.example', 'http://b.example:81'] },
    ],
  ])('%s', (_, env, expected) => {
    expect(readConfig(env)).toMatchObject(expected)
  })

  it.each<[string, string]>([
    ['SVC_ROLE', 'both'],
    ['SVC_PORT', '80a'],
    ['SVC_PORT', '65536'],
    ['SVC_PORT', '-1'],
    ['SVC_PORT', '1e3'],
    ['SVC_HOST', ' '],
    ['SVC_BASE_URL', 'localhost:8787'],
    ['SVC_BASE_URL', 'ftp://a.example'],
    ['SVC_BASE_URL', 'https://user:pw@a.example'],
    ['SVC_BASE_URL', 'https://a.example?x=1'],
    ['SVC_BASE_URL', 'https://a.example#x'],
    ['SVC_GATEWAY_URL', 'nowhere'],
    ['SVC_DATABASE_URL', 'mysql://db'],
    ['SVC_DATABASE_URL', 'embedded:'],
    ['SVC_MAIL_URL', 'https://mail.example'],
    ['SVC_MAIL_URL', 'smtp://'],
    ['SVC_MAIL_URL', 'outbox:'],
    ['SVC_MAIL_FROM', 'A Name <a@b.example>'],
    ['SVC_MAIL_FROM', 'a@b.example,c@d.example'],
    ['SVC_DEV_LINKS', 'yes'],
    ['SVC_APPROVAL_MODE', 'none'],
    ['SVC_LOGIN_SECONDS', '601'],
    ['SVC_LOGIN_SECONDS', '0'],
    ['SVC_POLL_INTERVAL_SECONDS', '0'],
    ['SVC_ACCESS_TOKEN_SECONDS', '0'],
    ['SVC_REFRESH_REPLAY_SECONDS', '601'],
    ['SVC_MAX_BODY_BYTES', 'big'],
    ['SVC_ALLOWED_ORIGINS', '*'],
    ['SVC_ALLOWED_ORIGINS', 'https://a.example/path'],
    ['SVC_ALLOWED_ORIGINS', 'https://a.example,null'],
    ['SVC_VENDORA_UPSTREAM_URL', 'vendor'],
    ['SVC_LOCAL_ENGINE_URL', 'file:///etc/passwd'],
    ['SVC_LOG_LEVEL', 'loud'],
  ])('refuses %s=%s, naming the setting', (name, value) => {
    const mistakes = mistakesOf({ [name]: value })
    expect(mistakes).toHaveLength(1)
    expect(mistakes[0]).toMatch(new RegExp(`^${name}: `))
  })

  it('names every mistake at once', () => {
    const mistakes = mistakesOf({
      SVC_PORT: 'x',
      SVC_BASE_URL: 'x',
      SVC_MAIL_URL: 'x',
      SVC_LOG_LEVEL: 'x',
      SVC_REFRESH_IDLE_DAYS: '0',
    })
    expect(mistakes.map((mistake) => mistake.split(':')[0])).toEqual([
      'SVC_PORT',
      'SVC_BASE_URL',
      'SVC_MAIL_URL',
      'SVC_REFRESH_IDLE_DAYS',
      'SVC_LOG_LEVEL',
    ])
  })

  it('repeats no value: it may be a secret', () => {
    const env = Object.fromEntries(SETTING_NAMES.map((name) => [name, '\t~hunter2~\t']))
    const text = mistakesOf(env).join('\n')
    expect(text).not.toBe('')
    expect(text).not.toContain('hunter2')
  })

  it('keeps secrets from being printed', () => {
    const config = readConfig({
      SVC_DATABASE_URL: 'postgresql://u:hunter2@db/x',
      SVC_MAIL_URL: 'smtp://u:hunter2@mail:25',
      SVC_UPSTREAM_BEARER_TOKEN: 'hunter2',
      SVC_VENDORA_UPSTREAM_URL: 'https://a.example',
      SVC_LOCAL_ENGINE_URL: 'http://127.0.0.1:1',
      SVC_LOCAL_ENGINE_API_KEY: 'hunter2',
    })
    expect(JSON.stringify(config)).not.toContain('hunter2')
    expect(String(config.database && 'url' in config.database && config.database.url)).toBe('[secret]')
  })

  describe('settings that are right one by one and wrong together', () => {
    it.each<[string, Environment, string]>([
      ['a control plane without a database', { SVC_DATABASE_URL: 'none' }, 'SVC_DATABASE_URL'],
      [
        'a gateway with a database of its own',
        { SVC_ROLE: 'gateway', SVC_DATABASE_URL: 'embedded:x' },
        'SVC_DATABASE_URL',
      ],
      ['idle longer than absolute', { SVC_REFRESH_IDLE_DAYS: '91' }, 'SVC_REFRESH_IDLE_DAYS'],
    ])('%s', (_, env, name) => {
      expect(mistakesOf(env)).toEqual([expect.stringMatching(new RegExp(`^${name}: `))])
    })

    it('are all named', () => {
      const mistakes = mistakesOf({
        SVC_DATABASE_URL: 'none',
        SVC_REFRESH_IDLE_DAYS: '91',
        SVC_DEV_LINKS: '1',
        NODE_ENV: 'production',
      })
      expect(mistakes.map((mistake) => mistake.split(':')[0]).sort()).toEqual([
        'SVC_DATABASE_URL',
        'SVC_DEV_LINKS',
        'SVC_REFRESH_IDLE_DAYS',
      ])
    })
  })

  it('names a contradiction beside settings that are wrong by themselves, unless it is about one of those', () => {
    const env = { SVC_PORT: 'high', SVC_REFRESH_IDLE_DAYS: '91', SVC_DATABASE_URL: 'none' }
    const names = (more: Environment) => mistakesOf({ ...env, ...more }).map((mistake) => mistake.split(':')[0])
    expect(names({})).toEqual(['SVC_PORT', 'SVC_DATABASE_URL', 'SVC_REFRESH_IDLE_DAYS'])
    expect(names({ SVC_ROLE: 'all of them' })).toEqual(['SVC_ROLE', 'SVC_PORT', 'SVC_REFRESH_IDLE_DAYS'])
  })

  describe('in production', () => {
    it.each<[string, Environment, string]>([
      ['links that approve in the start response', { SVC_DEV_LINKS: '1' }, 'SVC_DEV_LINKS'],
      ['mail that is not sent', { SVC_MAIL_URL: 'outbox:mails' }, 'SVC_MAIL_URL'],
    ])('refuses %s', (_, env, name) => {
      expect(mistakesOf(env)).toEqual([])
      expect(mistakesOf({ ...env, NODE_ENV: 'production' })).toEqual([
        expect.stringMatching(new RegExp(`^${name}: .*NODE_ENV=production`)),
      ])
    })
  })

  describe('the start response approves by itself', () => {
    const outbox = { SVC_MAIL_URL: 'outbox:mails' }
    it.each<[string, Environment, boolean]>([
      ['not with a mail server', { SVC_MAIL_URL: 'smtp://127.0.0.1:25' }, false],
      ['not without mail', {}, false],
      ['with an outbox on this machine', outbox, true],
      ['not with an outbox behind a public address', { ...outbox, SVC_BASE_URL: 'https://a.example' }, false],
      ['not with an outbox that others reach', { ...outbox, SVC_HOST: '0.0.0.0' }, false],
      ['where it is set by hand', { SVC_MAIL_URL: 'smtp://mail:25', SVC_HOST: '0.0.0.0', SVC_DEV_LINKS: '1' }, true],
    ])('%s', (_, env, devLinks) => {
      const config = readConfig(env)
      expect(config.login.devLinks).toBe(devLinks)
      expect(warningsOf(config, env).some((warning) => warning.includes('development'))).toBe(devLinks)
    })
  })
})

describe('warningsOf', () => {
  it('names a setting that has no effect', () => {
    expect(warningsOf(readConfig({}), { SVC_PROT: '80' })).toEqual([expect.stringContaining('SVC_PROT')])
  })
})

describe('isLoopback', () => {
  it.each([
    ['localhost', true],
    ['127.0.0.1', true],
    ['127.8.8.8', true],
    ['::1', true],
    ['[::1]', true],
    ['0.0.0.0', false],
    ['::', false],
    ['localhost.evil.example', false],
    ['127.0.0.1.evil.example', false],
    ['10.0.0.1', false],
  ])('%s: %s', (host, loopback) => {
    expect(isLoopback(host)).toBe(loopback)
  })
})
