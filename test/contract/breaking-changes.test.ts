import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { compare, CURRENT, describeChange } from '../../spec/compare.ts'

/** As much of the document as these cases change. */
type Node = { [key: string]: Node } & { required: string[]; parameters: object[]; version: string }

const folder = mkdtempSync(path.join(tmpdir(), 'svc-breaking-'))
afterAll(() => rmSync(folder, { recursive: true }))

/** What is said when the current contract is changed like this after its release. */
function after(change: (document: Node) => void) {
  const document = JSON.parse(readFileSync(CURRENT, 'utf8')) as Node
  change(document)
  const file = path.join(folder, 'changed.json')
  writeFileSync(file, JSON.stringify(document))
  const { changes, versionMistake } = compare(CURRENT, file)
  return { broken: changes.filter(({ impact }) => impact === 'major').map(describeChange), versionMistake }
}

const at = (node: Node, ...keys: string[]): Node =>
  keys.reduce((inner, key) => {
    const next = inner[key]
    if (!next) throw new Error(`The document has no ${key}.`)
    return next
  }, node)
const schema = (document: Node, name: string) => at(document, 'components', 'schemas', name)

describe('a change that breaks integrators', () => {
  it.each<[string, (document: Node) => void, RegExp]>([
    [
      'a field that is renamed',
      (document) => {
        const login = schema(document, 'StartedDeviceLogin')
        const fields = at(login, 'properties')
        fields.shortCode = at(fields, 'userCode')
        delete fields.userCode
        login.required = login.required.map((name) => (name === 'userCode' ? 'shortCode' : name))
      },
      /POST \/v1\/auth\/device\/start.*userCode.*for who reads this answer/,
    ],
    [
      'a status that is dropped',
      (document) => delete at(document, 'paths', '/v1/workers/{id}', 'get', 'responses')['404'],
      /GET \/v1\/workers\/\{id\}.*404.*for who reads this answer/,
    ],
    [
      'a required parameter that is added',
      (document) => {
        const parameter = { name: 'team', in: 'query', required: true, schema: { type: 'string' } }
        at(document, 'paths', '/v1/models', 'get').parameters = [parameter]
      },
      /GET \/v1\/models.*team.*for who sends this request/,
    ],
    [
      'an answer that promises less',
      (document) => delete (schema(document, 'LoggedOut') as Partial<Node>).required,
      /POST \/v1\/auth\/logout.*ok.*for who reads this answer/,
    ],
  ])('is told: %s', (_name, change, told) => {
    const { broken, versionMistake } = after(change)
    expect(broken.join('\n')).toMatch(told)
    expect(versionMistake).toContain('info.version')
  })

  it('is let through when the version says so', () => {
    const { broken, versionMistake } = after((document) => {
      delete at(document, 'paths', '/v1/workers/{id}', 'get', 'responses')['404']
      at(document, 'info').version = '99.0.0'
    })
    expect([broken.length, versionMistake]).toEqual([1, null])
  })
})

it('has nothing to say about the same document', () => {
  expect(after(() => {})).toEqual({ broken: [], versionMistake: null })
})
