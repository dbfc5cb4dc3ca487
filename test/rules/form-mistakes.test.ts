import { describe, expect, it } from 'vitest'
import { toFormMistakes } from '../../src/control/console/models/form-mistakes.ts'

const row = (place: string, backend: string) => ({ place, backend, model: 'm', when: 'always', share: '1' })
const ROWS = [row('2', 'last'), row('1', 'first'), row('1', 'neighbour')]

describe('what is wrong with a form of the models page', () => {
  it.each([
    ['contextWindow: must be a whole number.', 'Context in tokens: must be a whole number.', 'contextWindow'],
    ['aliases[1]: must be a name; aliases[3]: must be a name.', 'Other names: must be a name', 'aliases'],
    ['serve[0][1].weight: must be at most 1000.', 'Share (row 3): must be at most 1000.', 'weight-2'],
    ['serve[1].model: must not be empty.', 'Its name there (row 1): must not be empty.', 'model-0'],
    ['serve: no model of x. GET /v1/teams/{team}/models shows them.', 'Served by: no model of x.', 'serve'],
    ['credential: must be given again, or null, when the host', 'Credential: must be given again when', 'credential'],
    ['url: must be an https:// URL.', 'URL, without /v1: must be an https:// URL.', 'url'],
  ])('is said with the label of the field for %s', (refusal, sentence, field) => {
    const mistakes = toFormMistakes(refusal, ROWS)
    expect(mistakes.sentence).toContain(sentence)
    expect(Object.keys(mistakes.fields)).toEqual([field])
  })

  it('says the same once, and each mistake at its own field', () => {
    const { sentence, fields } = toFormMistakes('displayName: must not be empty; serve[0][0].model: is wrong.', ROWS)
    expect(sentence).toBe('Display name: must not be empty; Its name there (row 2): is wrong.')
    expect(fields).toEqual({ displayName: 'Must not be empty.', 'model-1': 'Is wrong.' })
    expect(toFormMistakes('aliases[0]: is wrong; aliases[1]: is wrong', ROWS).sentence).toBe('Other names: is wrong')
  })

  it('keeps what names no field of the form', () => {
    const taken = 'The directory file uses the name "quick: fast". Choose another one.'
    expect(toFormMistakes(taken, ROWS)).toEqual({ sentence: taken, fields: {} })
  })
})
