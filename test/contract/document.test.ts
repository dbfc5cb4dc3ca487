import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, renameSync } from 'node:fs'
import path from 'node:path'
import { Ajv2020 } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import { describe, expect, it } from 'vitest'
import packageJson from '../../package.json' with { type: 'json' }
import { toPublished } from '../../spec/published.ts'
import { readContract, routesOf } from '../../src/http/contract.ts'
import { findPatternWords } from '../../src/http/validation/errors.ts'
import { toRequestDocument } from '../../src/http/validation/request-document.ts'
import type { Document, Media, DocumentedOperation, Schema } from '../../src/docs/document.ts'

const root = path.join(import.meta.dirname, '../..')
const text = readFileSync(path.join(root, 'generated/openapi.json'), 'utf8')
const document = JSON.parse(text) as Document
const operations = Object.values(document.paths).flatMap((item) => Object.values(item))
const ajv = new Ajv2020({ strict: false })
addFormats.default(ajv)
ajv.addSchema({ $id: 'contract', ...document })

it('generated/openapi.json is what spec/ generates', () => {
  const compiled = JSON.parse(compileSpec()) as Document
  expect(JSON.stringify(toPublished(compiled)), 'Run "npm run generate".').toBe(JSON.stringify(document))
})

/**
 * The document that spec/ describes. It is kept until a source or a package changes, because compiling takes four
 * seconds of CPU time.
 */
function compileSpec(): string {
  const names = readdirSync(path.join(root, 'spec'), { recursive: true, encoding: 'utf8' })
  const sources = names.filter((name) => name.endsWith('.tsp')).map((name) => path.join('spec', name))
  const hash = createHash('sha256')
  for (const file of [...sources.toSorted(), 'tspconfig.yaml', 'package-lock.json'])
    hash.update(`${file}\0`).update(readFileSync(path.join(root, file)))
  const folder = path.join(root, `node_modules/.cache/svc/contract-${hash.digest('hex').slice(0, 16)}`)
  const file = path.join(folder, 'openapi.json')
  if (existsSync(file)) return readFileSync(file, 'utf8')

  // Renamed when complete.
  const part = `${folder}.${process.pid}`
  const args = ['compile', 'spec/main.tsp', '--config', 'tspconfig.yaml']
  const to = ['--option', `@typespec/openapi3.emitter-output-dir=${part}`]
  const tsp = path.join(root, 'node_modules/.bin/tsp')
  const { status, stdout } = spawnSync(tsp, [...args, ...to], { cwd: root, encoding: 'utf8' })
  expect(status, stdout).toBe(0)
  renameSync(part, folder)
  return readFileSync(file, 'utf8')
}

it('has the version of the packages, which `svc version` prints', () => {
  expect(document.info.version).toBe(packageJson.version)
})

it('names only schemas that it has', () => {
  const descriptions = Array.from(
    text.matchAll(/"description": (".*")/g),
    ([, value = '']) => JSON.parse(value) as string,
  )
  // The names of WebAuthn are those of its standard.
  const own = descriptions.filter((description) => !description.includes('WebAuthn'))
  const named = own.flatMap((description) =>
    Array.from(description.matchAll(/`([A-Z]\w*[a-z][A-Z]\w*)`/g), ([, name]) => name),
  )
  expect(named).toContain('SessionEvent')
  expect(named.filter((name = '') => !(name in document.components.schemas))).toEqual([])
})

it('says in words what each text of a request must be that has to match a pattern', () => {
  const contract = readContract()
  for (const route of routesOf(contract)) {
    const request = toRequestDocument(contract, route)
    const patterns = Array.from(
      JSON.stringify(request).matchAll(/"pattern":("(?:[^"\\]|\\.)*")/g),
      ([, text = '']) => text,
    )
    const withWords = findPatternWords(request).map(([pattern]) => JSON.stringify(pattern))
    expect(withWords, route.id).toEqual(expect.arrayContaining(patterns))
  }
})

describe.each(operations.map((operation) => [operation.operationId, operation] as const))('%s', (_id, operation) => {
  it('has a summary, a description and one tag', () => {
    expect(operation.summary).toBeTruthy()
    expect(operation.description).toBeTruthy()
    expect(operation.tags).toHaveLength(1)
  })

  it('lists its credentials, and none where it needs none', () => {
    expect(operation.security).toBeDefined()
    // Prism, a mock server, refuses every request to an operation with this list.
    expect(operation.security).not.toEqual([{}])
  })

  it('describes each answer, with the headers of the request id and Retry-After', () => {
    for (const [status, { description, headers = {} }] of Object.entries(operation.responses)) {
      expect(description, status).toMatch(/\.$/)
      expect(description, status).not.toMatch(EMPTY_WORDS)
      if (status !== 'default') expect(namesOf(headers), status).toContain('x-request-id')
      if (status === '429') expect(namesOf(headers), status).toContain('retry-after')
    }
  })

  it('has examples for requests and answers that match their schemas', () => {
    const good = Object.entries(operation.responses).filter(([status]) => status.startsWith('2'))
    const media = [operation.requestBody?.content ?? {}, ...good.map(([, { content = {} }]) => content)]
    // Bytes of any type have no example.
    const described = media.flatMap((content) => Object.entries(content)).filter(([type]) => type !== '*/*')
    for (const [type, one] of described) expectExamples(type, one)
    for (const parameter of parametersOf(operation)) expect(parameter.example, parameter.name).toBeDefined()
  })

  it('answers 400, or accepts every text as a parameter', () => {
    if ('400' in operation.responses) return
    // No path has an empty part.
    const anyText = [{ type: 'string' }, { type: 'string', minLength: 1 }]
    for (const { schema = {} } of operation.parameters ?? []) expect(anyText).toContainEqual(resolve(schema))
  })

  it('refers to the schema of the events of its stream', () => {
    const stream = operation.responses['200']?.content?.['text/event-stream']
    if (!stream?.schema) return
    const { 'x-event-schema': events } = resolve(stream.schema) as { 'x-event-schema'?: Schema }
    expect(Object.keys(resolve(events ?? {}).properties ?? {})).not.toEqual([])
  })
})

const namesOf = (headers: object) => Object.keys(headers).map((name) => name.toLowerCase())
const EMPTY_WORDS = /The request has succeeded|An answer with|Access is|The server cannot|Server error/

type Shown = { readonly name: string; readonly required?: boolean; readonly example?: unknown }

function parametersOf({ parameters = [] }: DocumentedOperation): readonly Shown[] {
  return parameters.filter(({ required }) => required)
}

function expectExamples(type: string, { schema = {}, example, examples = {} }: Media): void {
  const ofSchema = (resolve(schema) as { examples?: unknown[] }).examples ?? []
  const shown = [example, ...Object.values(examples).map(({ value }) => value), ...ofSchema]
  const given = shown.filter((one) => one !== undefined)
  expect(given.length, type).toBeGreaterThan(0)
  const validate = ajv.compile(pointed(schema))
  for (const one of given) expect([validate(one), validate.errors], JSON.stringify(one)).toEqual([true, null])
}

function resolve(schema: Schema): Schema {
  const name = schema.$ref?.split('/').at(-1)
  return name === undefined ? schema : (document.components.schemas[name] ?? {})
}

/** Makes the references of a schema absolute, so that they resolve outside the document. */
function pointed(schema: Schema): object {
  return JSON.parse(JSON.stringify(schema).replaceAll('"#/', '"contract#/')) as object
}
