import { existsSync, globSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { parse, parseAllDocuments } from 'yaml'
import { readConfig, warningsOf } from '../../src/config.ts'
import { SECRET_SETTING_NAMES, SETTING_NAMES } from '../../src/config/settings.ts'
import { contractOf, readContract } from '../../src/http/contract.ts'
import { ROOT } from '../support/source/documents.ts'

const read = (file: string) => readFileSync(path.join(ROOT, 'docs/deploy', file), 'utf8')

type Environment = Record<string, string>
type Compose = {
  readonly services: Readonly<Record<string, { readonly environment?: Environment; readonly secrets?: string[] }>>
  readonly secrets: object
  readonly configs: { readonly caddyfile: { readonly content: string } }
}
const compose = parse(read('compose.yaml'), { merge: true }) as Compose

/** The values of secrets that are files in a container. */
const SECRETS: Readonly<Record<string, string>> = {
  SVC_DATABASE_URL: 'postgresql://svc:secret@postgres/svc',
  SVC_MAIL_URL: 'smtps://svc:secret@mail.example.com',
}

function withSecrets(env: Environment): Environment {
  const given = Object.entries(env).map(([name, value]) => {
    const setting = name.replace(/_FILE$/, '')
    const isSecretFile = name.endsWith('_FILE') && SECRET_SETTING_NAMES.includes(setting)
    return isSecretFile
      ? [setting, SECRETS[setting] ?? 'secret']
      : [name, value.replace('${DOMAIN:-localhost}', 'svc.example.com')]
  })
  // A file takes the place of the empty value beside it.
  return Object.fromEntries(given.toSorted(([, a = ''], [, b = '']) => a.length - b.length)) as Environment
}

describe('the files of docs/deploy', () => {
  it('name only settings that exist', () => {
    const known = [...SETTING_NAMES, ...SECRET_SETTING_NAMES.map((name) => `${name}_FILE`)]
    const named = globSync('*', { cwd: path.join(ROOT, 'docs/deploy') }).flatMap(
      (file) => read(file).match(/\bSVC_\w+/g) ?? [],
    )
    expect(named.length).toBeGreaterThan(20)
    expect(named.filter((name) => !known.includes(name))).toEqual([])
  })

  it.each(['control-plane', 'gateway'])('have settings for the %s that are accepted without a warning', (service) => {
    const env = { ...withSecrets(compose.services[service]?.environment ?? {}), NODE_ENV: 'production' }
    const config = readConfig(env)
    expect(config.role).toBe(service)
    expect(warningsOf(config, env)).toEqual([])
  })

  it('give each service of compose.yaml only secrets that are declared', () => {
    const used = Object.values(compose.services).flatMap(({ secrets = [] }) => secrets)
    expect([...new Set(used)].toSorted()).toEqual(Object.keys(compose.secrets).toSorted())
  })

  it('send the paths of the gateway to the gateways, and no others', () => {
    const contract = readContract()
    const pathsOf = (role: 'gateway' | 'control-plane') => Object.keys(contractOf(contract, role).paths)
    const [gateway, control] = [pathsOf('gateway'), pathsOf('control-plane')]
    const patterns = [...compose.configs.caddyfile.content.matchAll(/^ *@\w+ path (.*)$/gm)].flatMap(([, list = '']) =>
      list.split(' '),
    )
    const isMatched = (route: string) =>
      patterns.some((pattern) => (pattern.endsWith('*') ? route.startsWith(pattern.slice(0, -1)) : route === pattern))
    expect(gateway.filter((route) => !control.includes(route) && !isMatched(route))).toEqual([])
    expect(control.filter((route) => isMatched(route))).toEqual([])
  })

  it('write no core dumps', () => {
    expect(read('svc.service')).toMatch(/^LimitCORE=0$/m)
    for (const service of ['control-plane', 'gateway'])
      expect(compose.services[service], service).toMatchObject({ ulimits: { core: 0 } })
  })

  it('set up a gateway on Kubernetes with settings that are accepted, as the standard "restricted" requires', () => {
    type Container = {
      readonly env: { name: string; value: string }[]
      readonly securityContext: object
      readonly startupProbe?: { readonly periodSeconds: number; readonly failureThreshold: number }
    }
    type Deployment = {
      readonly spec: { readonly template: { readonly spec: { containers: Container[]; securityContext: object } } }
    }
    const [deployment] = parseAllDocuments(read('kubernetes.yaml')).map((document) => document.toJS() as Deployment)
    const { containers, securityContext } = deployment?.spec.template.spec ?? { containers: [], securityContext: {} }
    const env = Object.fromEntries((containers[0]?.env ?? []).map(({ name, value }) => [name, value]))
    expect(readConfig(withSecrets(env)).role).toBe('gateway')
    expect(securityContext).toMatchObject({ runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } })
    expect(containers[0]?.securityContext).toMatchObject({
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    })
    const { periodSeconds = 0, failureThreshold = 0 } = containers[0]?.startupProbe ?? {}
    expect(periodSeconds * failureThreshold, 'seconds for a start that migrates').toBeGreaterThanOrEqual(3600)
  })

  it('copy into the image what exists, and ask a route of the contract whether it is healthy', () => {
    const copied = [...read('Dockerfile').matchAll(/^COPY (?!--from)(.*) \S+$/gm)].flatMap(([, list = '']) =>
      list.split(' '),
    )
    expect(copied).toEqual(expect.arrayContaining(['prisma/migrations', 'prisma/empty-database.tar.br']))
    expect(copied.filter((file) => !existsSync(path.join(ROOT, file)))).toEqual([])
    expect(readContract().paths).toHaveProperty([/127\.0\.0\.1:8787(\/\w+)'/.exec(read('Dockerfile'))?.[1] ?? ''])
  })
})
