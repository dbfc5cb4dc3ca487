import { describe, expect, it } from 'vitest'
import { clampTokens, judgeModel, judgeWorker, toProbe } from '../../src/gateway/workers/rules.ts'
import type { Probe, WorkerState } from '../../src/gateway/workers/rules.ts'

const listed = (...models: string[]): Probe => ({ kind: 'listed', models })

describe('what an answer to the question for models means', () => {
  it.each<[string, number, string, Probe]>([
    ['a list', 200, '{"object":"list","data":[{"id":"a","object":"model"},{"id":"b"}]}', listed('a', 'b')],
    ['a list with more members', 200, '{"models":[{}],"data":[{"id":"a","meta":{}}]}', listed('a')],
    [
      'a model of many names',
      200,
      '{"data":[{"id":"a","aliases":["a","b",1]},{"id":"c","aliases":null}]}',
      listed('a', 'b', 'c'),
    ],
    ['an empty list', 200, '{"object":"list","data":[]}', listed()],
    ['Ollama without models', 200, '{"object":"list","data":null}', listed()],
    [
      '200 to an unknown path',
      200,
      '{"error":"Unexpected endpoint or method. (GET /v1/models)"}',
      { kind: 'unhealthy' },
    ],
    ['a page', 200, '<html>Ollama is running</html>', { kind: 'unhealthy' }],
    ['an empty body', 200, '', { kind: 'unhealthy' }],
    ['null', 200, 'null', { kind: 'unhealthy' }],
    ['a list of other things', 200, '{"data":[{"name":"a"}]}', { kind: 'unhealthy' }],
    ['a list as text', 200, '{"data":"a"}', { kind: 'unhealthy' }],
    ['a model that loads', 503, '{"error":{"code":503,"message":"Loading model"}}', { kind: 'unhealthy' }],
    ['a list with an error status', 500, '{"data":[{"id":"a"}]}', { kind: 'unhealthy' }],
    ['a wrong key', 401, '{"error":{"message":"Unauthorized"}}', { kind: 'unhealthy' }],
    ['a redirection', 302, '', { kind: 'unhealthy' }],
  ])('%s', (_name, status, body, expected) => {
    expect(toProbe(status, body)).toEqual(expected)
  })
})

describe('the state of the worker', () => {
  it.each<[string, Probe, string[], WorkerState]>([
    ['no worker', { kind: 'not_configured' }, ['a'], 'not_configured'],
    ['nobody there', { kind: 'unavailable' }, ['a'], 'unavailable'],
    ['somebody else there', { kind: 'unhealthy' }, ['a'], 'unhealthy'],
    ['every model there', listed('a', 'b', 'c'), ['a', 'b'], 'ready'],
    ['one model missing', listed('a'), ['a', 'b'], 'model_missing'],
    ['no models asked for', listed(), [], 'ready'],
    ['the short name of a tagged model', listed('qwen3:latest'), ['qwen3'], 'ready'],
    ['another tag', listed('qwen3:8b'), ['qwen3'], 'model_missing'],
  ])('%s', (_name, probe, models, expected) => {
    expect(judgeWorker(probe, models)).toBe(expected)
  })

  it('of a model is its own', () => {
    expect(judgeModel(listed('a'), 'a')).toBe('ready')
    expect(judgeModel(listed('a'), 'b')).toBe('model_missing')
    expect(judgeModel({ kind: 'unavailable' }, 'a')).toBe('unavailable')
  })
})

describe('token limits', () => {
  it.each([
    ['too high', { max_tokens: 9000 }, { max_tokens: 4096 }],
    [
      "every style's word",
      { max_tokens: 9000, max_completion_tokens: 9001, max_output_tokens: 9002, n_predict: 9003 },
      { max_tokens: 4096, max_completion_tokens: 4096, max_output_tokens: 4096, n_predict: 4096 },
    ],
    ['only the one that is too high', { max_tokens: 10, max_completion_tokens: 5000 }, { max_completion_tokens: 4096 }],
    ['negative, which engines read as none', { max_tokens: -1, n_predict: -2 }, { max_tokens: 4096, n_predict: 4096 }],
    ['at the limit', { max_tokens: 4096 }, {}],
    ['below', { max_tokens: 1 }, {}],
    ['absent', { model: 'm' }, {}],
    ['null', { max_tokens: null }, {}],
    ['not a number', { max_tokens: '9000' }, {}],
    ['beyond what numbers can hold', { max_tokens: Infinity }, { max_tokens: 4096 }],
  ])('%s', (_name, body, expected) => {
    expect(clampTokens(body, 4096)).toEqual(expected)
  })
})
