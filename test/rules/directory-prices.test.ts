import { describe, expect, it } from 'vitest'
import { readDirectoryFile } from '../../src/directory/rules.ts'

const file = (price: string, entryPrice: string) => `organizations: []
models:
  - id: vendora/large
    displayName: Large
    owner: vendora
    price: ${price}
    serve:
      - { backend: vendora, model: large, price: ${entryPrice} }
`

describe('prices in the directory file', () => {
  it('are of a model, and of a backend that serves it', () => {
    expect(readDirectoryFile(file('{ as: openai/gpt-5.5 }', '{ input: 3, output: 15, cacheRead: 0.3 }'))).toMatchObject(
      {
        directory: {
          models: [{ price: { as: 'openai/gpt-5.5' }, serve: [{ price: { input: 3, output: 15, cacheRead: 0.3 } }] }],
        },
      },
    )
  })

  it('may be left out', () => {
    expect(readDirectoryFile(file('null', '{ input: 0, output: 0 }'))).toMatchObject({
      directory: { models: [{ price: null, serve: [{ price: { input: 0, output: 0 } }] }] },
    })
  })

  it('may have those of service tiers', () => {
    const price =
      '{ input: 5, output: 25, fast: { input: 10, output: 50, cacheRead: 1 }, flex: { input: 2, output: 9 } }'
    expect(readDirectoryFile(file(price, '{ input: 0, output: 0 }'))).toMatchObject({
      directory: {
        models: [{ price: { input: 5, fast: { input: 10, output: 50, cacheRead: 1 }, flex: { input: 2, output: 9 } } }],
      },
    })
  })

  const EITHER =
    'must have either input and output, in USD for a million tokens, or as, the name of a model in the price file'
  it.each([
    ['without an output', '{ input: 3 }', `line 6, models[0].price: ${EITHER}`],
    ['with both forms', '{ as: x, input: 3, output: 1 }', `line 6, models[0].price: ${EITHER}`],
    ['of a service tier and a name', '{ as: x, fast: { input: 3, output: 1 } }', `line 6, models[0].price: ${EITHER}`],
    [
      'of a service tier without an output',
      '{ input: 1, output: 1, fast: { input: 3 } }',
      'line 6, models[0].price.fast: must have input and output, in USD for a million tokens',
    ],
    ['that is empty', '{}', `line 6, models[0].price: ${EITHER}`],
    ['that is a number', '3', 'line 6, models[0].price: must be a mapping'],
    ['below zero', '{ input: -1, output: 1 }', 'line 6, models[0].price.input: must be at least 0'],
    [
      'in words',
      '{ input: cheap, output: 1 }',
      'line 6, models[0].price.input: must be a number of USD for a million tokens',
    ],
    [
      'of more than any model costs',
      '{ input: 1, output: 10001 }',
      'line 6, models[0].price.output: must be at most 10000',
    ],
    [
      'of an unknown class',
      '{ input: 1, output: 1, audio: 1 }',
      'line 6, models[0].price.audio: is not a known field ' +
        '(known: as, input, output, cacheRead, cacheWrite, cacheWriteLong, reasoning, fast, flex)',
    ],
  ])('%s are refused with their line', (_, price, mistake) => {
    expect(readDirectoryFile(file(price, '{ input: 1, output: 1 }'))).toEqual({ mistakes: [mistake] })
  })

  it('of a backend are refused with their line too', () => {
    expect(readDirectoryFile(file('null', '{ output: 1 }'))).toEqual({
      mistakes: [`line 8, models[0].serve[0].price: ${EITHER}`],
    })
  })
})
