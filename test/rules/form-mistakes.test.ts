import { describe, expect, it } from 'vitest'
import { toFormMistakes } from '../../src/control/console/models/form-mistakes.ts'
import type { FieldMistake } from '../../src/directory/mistakes.ts'

const row = (place: string, backend: string) => ({ place, backend, model: 'm', when: 'always', share: '1' })
const ROWS = [row('2', 'last'), row('1', 'first'), row('1', 'neighbour')]
const mistake = (path: FieldMistake['path'], message: string, hint?: string) => ({ path, message, hint })

describe('what is wrong with a form of the models page', () => {
  it.each<[found: FieldMistake, sentence: string, field: string]>([
    [
      mistake(['contextWindow'], 'must be a whole number'),
      'Context in tokens: must be a whole number.',
      'contextWindow',
    ],
    [mistake(['id'], 'must have letters.', 'An example is acme/core/writer.'), 'Name: must have letters.', 'id'],
    [mistake(['serve', 0, 1, 'weight'], 'must be at most 1000'), 'Share (row 3): must be at most 1000.', 'weight-2'],
    [
      mistake(['serve', 1, 'model'], 'must not be empty'),
      'Model at the backend (row 1): must not be empty.',
      'model-0',
    ],
    [mistake(['serve'], 'no model of x.', 'GET /v1/x shows them.'), 'Served by: no model of x.', 'serve'],
    [mistake(['credential', 'value'], 'must be ASCII'), 'Credential: must be ASCII.', 'credential'],
  ])('is said with the label of its field, and without the hint for the API: %j', (found, sentence, field) => {
    const { fields, ...said } = toFormMistakes([found], ROWS)
    expect(said).toEqual({ sentence })
    expect(Object.keys(fields)).toEqual([field])
  })

  it('says the same once, and each mistake at its own field', () => {
    const found = [mistake(['displayName'], 'must not be empty'), mistake(['serve', 0, 0, 'model'], 'is wrong')]
    const { sentence, fields } = toFormMistakes(found, ROWS)
    expect(sentence).toBe('Display name: must not be empty; Model at the backend (row 2): is wrong.')
    expect(fields).toEqual({ displayName: 'Must not be empty.', 'model-1': 'Is wrong.' })
    const twice = [mistake(['aliases', 0], 'is wrong'), mistake(['aliases', 1], 'is wrong')]
    expect(toFormMistakes(twice, ROWS).sentence).toBe('Other names: is wrong.')
  })

  it('keeps what belongs to no field of the form', () => {
    const full = 'The team has 100 models of its own already. Delete one first.'
    expect(toFormMistakes([mistake([], full)], ROWS)).toEqual({ sentence: full, fields: {} })
    expect(toFormMistakes([], ROWS)).toEqual({ sentence: '', fields: {} })
  })
})
