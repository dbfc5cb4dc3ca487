import { expect, it } from 'vitest'
import { serveFields } from '../../src/control/console/models/serve-fields.ts'
import { MAX_SERVING_BACKENDS } from '../../src/directory/backends.ts'

it.each([
  ['one for the first backend and an empty one', 0, 2],
  ['an empty one behind them', MAX_SERVING_BACKENDS - 1, MAX_SERVING_BACKENDS],
  ['none behind them', MAX_SERVING_BACKENDS, MAX_SERVING_BACKENDS],
])('the form of a model has rows for its backends, and %s, where it has %i', (_, count, shown) => {
  const row = { place: '1', backend: 'own', model: 'm', when: 'always', share: '1' }
  const form = String(serveFields('new', Array<typeof row>(count).fill(row), ['own'], {}))
  expect(form.match(/name="serveModel"/g)).toHaveLength(shown)
})
