import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { compare, CURRENT, describeChange, findBreakingMistakes } from '../../spec/compare.ts'

/** The parts of the document that these tests change. */
type Node = { [key: string]: Node } & { required: string[]; parameters: object[]; version: string }

const folder = mkdtempSync(path.join(tmpdir(), 'svc-breaking-'))
afterAll(() => rmSync(folder, { recursive: true }))

/** Compares the current contract with a changed copy of it. */
function after(change: (document: Node) => void) {
  const document = JSON.parse(readFileSync(CURRENT, 'utf8')) as Node
  change(document)
  const file = path.join(folder, 'changed.json')
  writeFileSync(file, JSON.stringify(document))
  const comparison = compare(CURRENT, file)
  const broken = comparison.changes.filter(({ impact }) => impact === 'major').map(describeChange)
  return { comparison, broken, versionMistake: comparison.versionMistake }
}

const at = (node: Node, ...keys: string[]): Node =>
  keys.reduce((inner, key) => {
    const next = inner[key]
    if (!next) throw new Error(`The document has no ${key}.`)
    return next
  }, node)
const schema = (document: Node, name: string) => at(document, 'components', 'schemas', name)

describe('a breaking change', () => {
  const changes: [string, (document: Node) => void, RegExp][] = [
    [
      'a renamed field',
      (document) => {
        const login = schema(document, 'StartedDeviceLogin')
        const fields = at(login, 'properties')
        fields.shortCode = at(fields, 'userCode')
        delete fields.userCode
        login.required = login.required.map((name) => (name === 'userCode' ? 'shortCode' : name))
      },
      /POST \/v1\/auth\/device\/start.*userCode.*affects readers of this answer/,
    ],
    [
      'a removed status',
      (document) => delete at(document, 'paths', '/v1/workers/{id}', 'get', 'responses')['404'],
      /GET \/v1\/workers\/\{id\}.*404.*affects readers of this answer/,
    ],
    [
      'an added required parameter',
      (document) => {
        const parameter = { name: 'team', in: 'query', required: true, schema: { type: 'string' } }
        at(document, 'paths', '/v1/models', 'get').parameters = [parameter]
      },
      /GET \/v1\/models.*team.*affects senders of this request/,
    ],
    [
      'a field of an answer that becomes optional',
      (document) => delete (schema(document, 'LoggedOut') as Partial<Node>).required,
      /POST \/v1\/auth\/logout.*ok.*affects readers of this answer/,
    ],
  ]
  /** All changes in one document, because each comparison takes more than a second. */
  let found: ReturnType<typeof after>
  beforeAll(() => {
    found = after((document) => changes.forEach(([, change]) => change(document)))
  })

  it.each(changes)('is reported: %s', (_name, _change, reported) => {
    expect(found.broken.filter((line) => reported.test(line))).not.toEqual([])
  })

  it('needs a higher version', () => {
    expect(found.versionMistake).toContain('info.version')
  })

  it('needs to be accepted, also when the version is raised enough', () => {
    const { comparison, broken, versionMistake } = after((document) => {
      delete at(document, 'paths', '/v1/workers/{id}', 'get', 'responses')['404']
      at(document, 'info').version = '99.0.0'
    })
    // Only what was changed is reported.
    expect(comparison.changes.map(({ impact, path }) => [impact, path])).toEqual([
      ['patch', '#/info'],
      ['major', '#/paths/~1v1~1workers~1{id}/get/responses/404'],
    ])
    expect(versionMistake).toBeNull()
    expect(findBreakingMistakes(comparison, [])).toEqual([
      expect.stringMatching(/^These changes break integrators .*\n {2}GET \/v1\/workers\/\{id\}: responses > 404/),
    ])
    expect(findBreakingMistakes(comparison, [{ why: 'A reason.', changes: broken }])).toEqual([])
    const accepted = [{ why: 'A reason.', changes: [...broken, 'GET /v1/models: gone'] }]
    expect(findBreakingMistakes(comparison, accepted)).toEqual([
      expect.stringMatching(/^Remove these lines .*\n {2}GET \/v1\/models: gone$/),
    ])
  })
})
