import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { inspect } from 'node:util'
import { afterAll, describe, expect, it } from 'vitest'
import { ConfigError, readConfig, readConfigAgain, readFileSettings, warningsOf } from '../../src/config.ts'
import { SECRET_SETTING_NAMES, SETTING_NAMES, SETTINGS } from '../../src/config/settings.ts'
import type { Settings } from '../../src/config/settings.ts'
import { toConfig } from '../../src/config/values.ts'
import { Secret } from '../../src/kernel/secret.ts'

type Environment = Record<string, string>

/** The mistakes that readConfig reports; empty when there are none. */
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
  it('has a default for every setting, and null for what is not configured', () => {
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

  it('uses every setting', () => {
    const used = new Set<string | symbol>()
    const valid = SETTINGS.parse({ SVC_MAIL_URL: 'outbox:mails', SVC_LOCAL_ENGINE_URL: 'http://localhost:11434' })
    const get = (target: Settings, name: string | symbol): unknown => {
      used.add(name)
      return Reflect.get(target, name)
    }
    toConfig(new Proxy(valid, { get }), { ...readConfig({}), databaseUrlFile: null })
    expect([...used].toSorted()).toEqual(SETTING_NAMES.toSorted())
  })

  it('treats an empty setting as unset', () => {
    expect(readConfig({ SVC_MAIL_URL: '', SVC_PORT: '' })).toMatchObject({ mail: null, port: 8787 })
  })

  it('uses the default of the caller for an empty setting', () => {
    expect(readConfig({ SVC_PORT: '' }, { SVC_PORT: '9000' }).port).toBe(9000)
  })

  it.each<[string, Environment, object]>([
    ['a gateway has no database by default', { SVC_ROLE: 'gateway' }, { database: null }],
    [
      'a gateway loads keys from the public address of the control plane',
      { SVC_ROLE: 'gateway', SVC_BASE_URL: 'https://a.example/' },
      { verification: { controlPlaneUrl: 'https://a.example', keysFile: '.data/gateway-keys.json' } },
    ],
    [
      'model calls are limited, and metrics are off',
      {},
      {
        callLimits: {
          requestsPerMinute: 6000,
          streams: 640,
          accountRequestsPerMinute: 600,
          accountStreams: 64,
        },
        metricsPort: null,
      },
    ],
    ['a limit of 0 is off', { SVC_LIMIT_ACCOUNT_STREAMS: '0' }, { callLimits: { streams: 640, accountStreams: 0 } }],
    [
      'public addresses have no slashes at their end',
      { SVC_BASE_URL: 'https://a.example//', SVC_GATEWAY_URL: 'https://b.example/x//' },
      { baseUrl: 'https://a.example', gatewayUrl: 'https://b.example/x' },
    ],
    ['the default base URL has the configured port', { SVC_PORT: '9000' }, { baseUrl: 'http://localhost:9000' }],
    [
      'the address of the gateway is that of the control plane by default',
      { SVC_BASE_URL: 'https://a.example' },
      { gatewayUrl: 'https://a.example' },
    ],
    [
      'the sender of email is at the host of the base URL by default',
      { SVC_BASE_URL: 'https://a.example', SVC_MAIL_URL: 'smtp://mail:25' },
      { mail: { kind: 'smtp', from: 'svc@a.example' } },
    ],
    [
      'allowed origins are separated by commas',
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
    ['SVC_BASE_URL', 'https://a.example/x'],
    ['SVC_GATEWAY_URL', 'nowhere'],
    ['SVC_DATABASE_URL', 'mysql://db'],
    ['SVC_DATABASE_URL', 'embedded:'],
    ['SVC_DATABASE_URL', 'postgresql://db1,db2/svc'],
    ['SVC_DATABASE_URL', 'postgresql://db1:5432,db2:5432/svc'],
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
    ['SVC_ALLOWED_ORIGINS', 'https://*.a.example'],
    ['SVC_VENDORA_UPSTREAM_URL', 'vendor'],
    ['SVC_LOCAL_ENGINE_URL', 'file:///etc/passwd'],
    ['SVC_LOG_LEVEL', 'loud'],
    ['SVC_TRUST_PROXY', 'maybe'],
    ['SVC_TRUST_PROXY', '-1'],
    ['SVC_TRUST_PROXY', '10.0.0.0/33'],
    ['SVC_TRUST_PROXY', '10.0.0.1,'],
    ['SVC_ADMIN_BACKEND_HOSTS', 'https://api.vendor.example'],
    ['SVC_ADMIN_BACKEND_HOSTS', '10.0.0'],
    ['SVC_ADMIN_BACKEND_HOSTS', '010.0.0.1:8443'],
    ['SVC_ADMIN_BACKEND_HOSTS', '2130706433'],
    ['SVC_ADMIN_BACKEND_HOSTS', '*.10.0.0'],
    ['SVC_ADMIN_BACKEND_HOSTS', '.vendor.example'],
    ['SVC_ADMIN_BACKEND_HOSTS', 'api..vendor.example'],
    ['SVC_VENDORA_UPSTREAM_URL', 'https://user:pw@a.example'],
    ['SVC_VENDORA_UPSTREAM_URL', 'https://a.example/v1'],
    ['SVC_VENDORB_UPSTREAM_URL', 'https://a.example/proxy/v1/'],
    ['SVC_DATABASE_URL', 'postgresql://svc:100%@db/svc'],
    ['SVC_REDIS_URL', 'redis://:100%zz@redis'],
    ['SVC_REDIS_URL', 'redis://redis/cache'],
    ['SVC_REDIS_URL', 'redis://redis/-1'],
    ['SVC_MAIL_URL', 'smtp://svc:a#b@mail'],
    ['SVC_MAIL_URL', 'smtp://svc:100%@mail'],
    ['SVC_UPSTREAM_BEARER_TOKEN', 'Bearer abc'],
    ['SVC_VENDORB_UPSTREAM_API_KEY', 'schl\u00fcssel'],
    ['SVC_SECRET_KEY', 'c2hvcnQ='],
    ['SVC_SECRET_KEY', `${'A'.repeat(43)}=,short`],
  ])('refuses %s=%s, naming the setting', (name, value) => {
    const mistakes = mistakesOf({ [name]: value })
    expect(mistakes).toHaveLength(1)
    expect(mistakes[0]).toMatch(new RegExp(`^${name}: `))
  })

  it.each([
    ['-1', 'SVC_PORT: must be a whole number between 0 and 65535'],
    ['1e3', 'SVC_PORT: must be a whole number between 0 and 65535'],
    ['70000', 'SVC_PORT: must be a whole number between 0 and 65535'],
  ])('says what is allowed when a number is %s', (value, mistake) => {
    expect(mistakesOf({ SVC_PORT: value })).toEqual([mistake])
  })

  it.each(['1', 'true', 'loopback', '10.0.0.0/8, 192.168.1.1', 'uniquelocal,::1', 'fd00::/8'])(
    'accepts SVC_TRUST_PROXY=%s',
    (value) => {
      expect(readConfig({ SVC_TRUST_PROXY: value }).trustProxy).toBe(value)
    },
  )

  it('reports all mistakes together', () => {
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
      'SVC_LOG_LEVEL',
      'SVC_MAIL_URL',
      'SVC_REFRESH_IDLE_DAYS',
    ])
  })

  it('never repeats a value, because it may be a secret', () => {
    const env = Object.fromEntries(SETTING_NAMES.map((name) => [name, '\t~hunter2~\t']))
    const text = mistakesOf(env).join('\n')
    expect(text).not.toBe('')
    expect(text).not.toContain('hunter2')
  })

  it('prints secrets as [secret]', () => {
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

  describe('settings that are valid one by one and contradict each other', () => {
    it.each<[string, Environment, string]>([
      ['a control plane without a database', { SVC_DATABASE_URL: 'none' }, 'SVC_DATABASE_URL'],
      [
        'a gateway with a database of its own',
        { SVC_ROLE: 'gateway', SVC_DATABASE_URL: 'embedded:x' },
        'SVC_DATABASE_URL',
      ],
      [
        'several processes with an embedded database',
        { SVC_PROCESSES: '2', SVC_DATABASE_URL: 'embedded:x' },
        'SVC_PROCESSES',
      ],
      [
        'several processes with a database in memory',
        { SVC_PROCESSES: '2', SVC_DATABASE_URL: 'memory:' },
        'SVC_PROCESSES',
      ],
      [
        'backends of admins on a Postgres server without an encryption key',
        { SVC_DATABASE_URL: 'postgresql://db/svc', SVC_ADMIN_BACKEND_HOSTS: 'api.vendor.example' },
        'SVC_SECRET_KEY',
      ],
      ['metrics at the port of the service', { SVC_PORT: '9000', SVC_METRICS_PORT: '9000' }, 'SVC_METRICS_PORT'],
      [
        'polls that are as far apart as a login lasts',
        { SVC_LOGIN_SECONDS: '30', SVC_POLL_INTERVAL_SECONDS: '30' },
        'SVC_POLL_INTERVAL_SECONDS',
      ],
      [
        'an access token that outlives the idle time of its device',
        { SVC_ACCESS_TOKEN_SECONDS: '86401', SVC_REFRESH_IDLE_DAYS: '1' },
        'SVC_ACCESS_TOKEN_SECONDS',
      ],
      ['an idle time that is longer than the absolute time', { SVC_REFRESH_IDLE_DAYS: '91' }, 'SVC_REFRESH_IDLE_DAYS'],
    ])('%s', (_, env, name) => {
      expect(mistakesOf(env)).toEqual([expect.stringMatching(new RegExp(`^${name}: `))])
    })

    it('are all reported', () => {
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

  it('reports contradictions beside invalid settings, except contradictions that involve an invalid one', () => {
    const env = { SVC_PORT: 'high', SVC_REFRESH_IDLE_DAYS: '91', SVC_DATABASE_URL: 'none' }
    const names = (more: Environment) => mistakesOf({ ...env, ...more }).map((mistake) => mistake.split(':')[0])
    expect(names({})).toEqual(['SVC_PORT', 'SVC_DATABASE_URL', 'SVC_REFRESH_IDLE_DAYS'])
    expect(names({ SVC_ROLE: 'all of them' })).toEqual(['SVC_ROLE', 'SVC_PORT', 'SVC_REFRESH_IDLE_DAYS'])
  })

  describe('in production', () => {
    it.each<[string, Environment, string]>([
      ['start responses with links that approve the login', { SVC_DEV_LINKS: '1' }, 'SVC_DEV_LINKS'],
      ['an outbox, which sends no email', { SVC_MAIL_URL: 'outbox:mails' }, 'SVC_MAIL_URL'],
    ])('refuses %s', (_, env, name) => {
      expect(mistakesOf(env)).toEqual([])
      expect(mistakesOf({ ...env, NODE_ENV: 'production' })).toEqual([
        expect.stringMatching(new RegExp(`^${name}: .*NODE_ENV=production`)),
      ])
    })
  })

  describe('the start response carries the link that approves the login', () => {
    const outbox = { SVC_MAIL_URL: 'outbox:mails' }
    it.each<[string, Environment, boolean]>([
      ['not with an SMTP server', { SVC_MAIL_URL: 'smtp://127.0.0.1:25' }, false],
      ['not without email', {}, false],
      ['with an outbox on this machine', outbox, true],
      ['not with an outbox behind a public address', { ...outbox, SVC_BASE_URL: 'https://a.example' }, false],
      ['not with an outbox when other machines can connect', { ...outbox, SVC_HOST: '0.0.0.0' }, false],
      ['with SVC_DEV_LINKS=1', { SVC_MAIL_URL: 'smtp://mail:25', SVC_HOST: '0.0.0.0', SVC_DEV_LINKS: '1' }, true],
    ])('%s', (_, env, devLinks) => {
      const config = readConfig(env)
      expect(config.login.devLinks).toBe(devLinks)
      expect(warningsOf(config, env).some((warning) => warning.includes('development'))).toBe(devLinks)
    })
  })
})

describe('a setting that is given as a file', () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'svc-secrets-'))
  afterAll(() => rmSync(folder, { recursive: true }))

  function write(content: string): string {
    const file = path.join(folder, 'secret')
    writeFileSync(file, content)
    return file
  }

  function makePipe(): string {
    const pipe = path.join(folder, 'pipe')
    execFileSync('mkfifo', [pipe])
    return pipe
  }

  /** A value for each setting that holds a secret. A new setting needs a row. */
  const VALUES: Readonly<Record<string, string>> = {
    SVC_DATABASE_URL: 'postgresql://svc:hunter2@db/svc',
    SVC_REDIS_URL: 'redis://:hunter2@redis:6379',
    SVC_MAIL_URL: 'smtp://svc:hunter2@mail:587',
    SVC_SECRET_KEY: 'A'.repeat(43) + '=',
  }
  const valueOf = (name: string) => VALUES[name] ?? 'hunter2'

  it('need not be read again, nor the files of traces', () => {
    const file = write('hunter2')
    const traces = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:4318', OTEL_EXPORTER_OTLP_CERTIFICATE: file }
    const env = { SVC_VENDORA_UPSTREAM_URL: 'https://a.example', SVC_UPSTREAM_BEARER_TOKEN_FILE: file, ...traces }
    const before = readFileSettings(env)
    rmSync(file)
    expect(mistakesOf(env)).toHaveLength(2)
    expect(readConfigAgain(before, env).upstreams.vendora?.bearer?.reveal()).toBe('hunter2')
  })

  it('is possible for the settings that hold secrets', () => {
    const named = SETTING_NAMES.filter((name) => /TOKEN$|_KEY$|^SVC_(DATABASE|REDIS|MAIL)_URL$/.test(name))
    expect(SECRET_SETTING_NAMES).toEqual(expect.arrayContaining(named))
    expect(named.length).toBeGreaterThan(8)
  })

  it.each(SECRET_SETTING_NAMES)('%s has the value of the file without its last line break', (name) => {
    const needed = { SVC_VENDORB_UPSTREAM_URL: 'http://b', SVC_LOCAL_ENGINE_URL: 'http://e' }
    const reveal = (env: Environment) =>
      inspect(readConfig({ ...needed, ...env }), { depth: 9 }) + secretsIn(readConfig({ ...needed, ...env }))
    const file = write(`${valueOf(name)}\n`)
    const fromFile = reveal({ [`${name}_FILE`]: file }).replace(/, readUrl: \[Function[^\]]*\]/, '')
    expect(fromFile.trim()).toBe(reveal({ [name]: valueOf(name) }).trim())
  })

  it.each<[string, () => Environment, string]>([
    [
      'a file beside the value',
      () => ({ SVC_MAIL_URL: 'smtp://mail', SVC_MAIL_URL_FILE: write('smtp://m') }),
      'together',
    ],
    ['a file that does not exist', () => ({ SVC_MAIL_URL_FILE: path.join(folder, 'none') }), 'it does not exist'],
    ['a file that is a directory', () => ({ SVC_MAIL_URL_FILE: folder }), 'cannot be read'],
    ['a named pipe', () => ({ SVC_MAIL_URL_FILE: makePipe() }), 'it is a named pipe'],
    ['an empty file', () => ({ SVC_MAIL_URL_FILE: write('\n') }), 'is empty'],
  ])('refuses %s, together with all other mistakes', (_, env, words) => {
    const mistakes = mistakesOf({ SVC_PORT: 'x', ...env() })
    expect(mistakes).toHaveLength(2)
    expect(mistakes[0]).toMatch(new RegExp(`^SVC_MAIL_URL_FILE: .*${words}`))
  })

  it.each<[string, Environment]>([
    ['SVC_DATABASE_URL', { SVC_PROCESSES: '2' }],
    ['SVC_SECRET_KEY', { SVC_ADMIN_BACKEND_HOSTS: 'a.example', SVC_DATABASE_URL: 'postgresql://db/svc' }],
  ])('says nothing else of %s when its file cannot be read', (name, env) => {
    const file = path.join(folder, 'none')
    expect(mistakesOf({ ...env, [`${name}_FILE`]: file })).toEqual([
      `${name}_FILE: the file ${file} cannot be read: it does not exist`,
    ])
  })

  it('does not show what a file contains', () => {
    expect(mistakesOf({ SVC_MAIL_URL_FILE: write('hunter2') }).join()).not.toContain('hunter2')
  })

  it('takes the place of a default', () => {
    const config = readConfig({ SVC_MAIL_URL_FILE: write('smtp://mail:25') }, { SVC_MAIL_URL: 'outbox:mails' })
    expect(config.mail?.kind).toBe('smtp')
  })
})

/** The values of all secrets in a configuration. */
function secretsIn(value: unknown): string {
  if (value instanceof Secret) return value.reveal()
  if (typeof value !== 'object' || value === null) return ''
  return Object.values(value).map(secretsIn).join(' ')
}

describe('warningsOf', () => {
  const production = (env: Environment) => warningsOf(readConfig(env), { NODE_ENV: 'production' }).join('\n')

  it.each<[string, Environment, string]>([
    ['a public base URL without TLS', { SVC_BASE_URL: 'http://svc.example.com' }, 'SVC_BASE_URL'],
    ['a control plane without email', {}, 'SVC_MAIL_URL'],
    ['a control plane without a directory file', {}, 'SVC_DIRECTORY_FILE'],
    ['email without TLS', { SVC_MAIL_URL: 'smtp+insecure://mail:25' }, 'SVC_MAIL_URL'],
    [
      'a gateway on a Postgres server without a spool',
      { SVC_ROLE: 'gateway', SVC_DATABASE_URL: 'postgresql://db/svc' },
      'SVC_SPOOL_DIR',
    ],
    [
      'room for less than one body of a call',
      { SVC_MAX_BODIES_BYTES: '9999', SVC_MAX_BODY_BYTES: '10000' },
      'SVC_MAX_BODIES_BYTES',
    ],
    ['trust in every proxy', { SVC_TRUST_PROXY: 'true' }, 'SVC_TRUST_PROXY'],
  ])('warns of %s in production', (_, env, setting) => {
    expect(production(env)).toContain(setting)
  })

  it('warns of nothing with complete settings', () => {
    const env = {
      SVC_BASE_URL: 'https://svc.example.com',
      SVC_MAIL_URL: 'smtp://mail:587',
      SVC_DIRECTORY_FILE: 'directory.yaml',
      SVC_TRUST_PROXY: '1',
      SVC_MAX_BODIES_BYTES: '10000',
      SVC_MAX_BODY_BYTES: '10000',
    }
    expect(production(env)).toBe('')
  })

  it('names unknown settings', () => {
    const config = readConfig({ SVC_MAIL_URL: 'smtp://mail:587' })
    const warnings = warningsOf(config, { SVC_PROT: '80', SVC_MAIL_URL_FILE: 'mail' })
    expect(warnings).toEqual([expect.stringContaining('SVC_PROT')])
  })
})

describe('the standard variables of traces', () => {
  const endpoint = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://localhost:4318' }

  it.each<[string, Environment, object | null]>([
    ['no endpoint', { OTEL_SERVICE_NAME: 'x', OTEL_TRACES_SAMPLER: 'nonsense' }, null],
    [
      'an endpoint',
      endpoint,
      { sampler: 'parentbased_always_on', ratio: 1, timeoutMs: 3000, delayMs: 5000, maxWaiting: 2048 },
    ],
    ['an endpoint of traces', { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'https://c.example/v1/traces' }, { ratio: 1 }],
    ['OTEL_SDK_DISABLED', { ...endpoint, OTEL_SDK_DISABLED: 'TRUE' }, null],
    ['OTEL_TRACES_EXPORTER=none', { ...endpoint, OTEL_TRACES_EXPORTER: 'none' }, null],
    [
      'a sampler',
      { ...endpoint, OTEL_TRACES_SAMPLER: 'traceidratio', OTEL_TRACES_SAMPLER_ARG: '0.25' },
      { sampler: 'traceidratio', ratio: 0.25 },
    ],
  ])('switch traces on or off: %s', (_, env, tracing) => {
    const config = readConfig(env)
    if (tracing === null) expect(config.tracing).toBeNull()
    else expect(config.tracing).toMatchObject(tracing)
  })

  it.each<[string, string]>([
    ['OTEL_EXPORTER_OTLP_ENDPOINT', 'localhost:4318'],
    ['OTEL_EXPORTER_OTLP_PROTOCOL', 'grpc'],
    ['OTEL_TRACES_SAMPLER', 'some'],
    ['OTEL_TRACES_SAMPLER_ARG', '2'],
    ['OTEL_EXPORTER_OTLP_TIMEOUT', 'long'],
    ['OTEL_EXPORTER_OTLP_TRACES_TIMEOUT', '0'],
    ['OTEL_EXPORTER_OTLP_TIMEOUT', '2147483648'],
    ['OTEL_BSP_SCHEDULE_DELAY', 'soon'],
    ['OTEL_BSP_SCHEDULE_DELAY', '1e12'],
    ['OTEL_BSP_MAX_QUEUE_SIZE', '0'],
    ['OTEL_EXPORTER_OTLP_CERTIFICATE', '/nowhere/ca.pem'],
    ['OTEL_EXPORTER_OTLP_TRACES_CLIENT_CERTIFICATE', '/nowhere/client.pem'],
    ['OTEL_EXPORTER_OTLP_CLIENT_KEY', '/nowhere/key.pem'],
    ['OTEL_EXPORTER_OTLP_COMPRESSION', 'zstd'],
    ['OTEL_EXPORTER_OTLP_HEADERS', 'authorization: Bearer hunter2'],
    ['OTEL_EXPORTER_OTLP_TRACES_HEADERS', 'x-key=100%'],
    ['OTEL_RESOURCE_ATTRIBUTES', 'zone=a,b'],
  ])('are refused with a mistake in %s, together with other settings', (name, value) => {
    const mistakes = mistakesOf({ ...endpoint, [name]: value, SVC_PORT: 'x' })
    expect(mistakes.map((mistake) => mistake.split(':')[0])).toEqual([name, 'SVC_PORT'])
    expect(mistakes.join()).not.toContain('hunter2')
  })

  it.each<[string, string]>([
    ['OTEL_EXPORTER_OTLP_CERTIFICATE', import.meta.filename],
    ['OTEL_EXPORTER_OTLP_CERTIFICATE', ' '],
    ['OTEL_EXPORTER_OTLP_TRACES_COMPRESSION', 'gzip'],
    ['OTEL_EXPORTER_OTLP_HEADERS', 'authorization=Basic%20dTpw==, x-tenant=a;b,'],
    ['OTEL_RESOURCE_ATTRIBUTES', 'deployment.environment.name=staging,zone=a%2Cb'],
  ])('accept %s=%s', (name, value) => {
    expect(mistakesOf({ ...endpoint, [name]: value })).toEqual([])
  })
})
