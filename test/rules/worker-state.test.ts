import { describe, expect, it } from 'vitest'
import { clampTokens } from '../../src/gateway/backends/token-limits.ts'
import { judgeModel, judgeWorker, readModelList } from '../../src/gateway/backends/worker-state.ts'
import type { ModelState, ProbeResult } from '../../src/gateway/backends/worker-state.ts'
import { toShownWorker } from '../../src/gateway/workers/rules.ts'
import { servedModel, serveEntry } from '../support/served-models.ts'

const listed = (...models: string[]): ProbeResult => ({ kind: 'listed', models })

describe('the answer to a request for the list of models', () => {
  it.each<[string, number, string, ProbeResult]>([
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
  ])('that is %s', (_name, status, body, expected) => {
    expect(readModelList(status, body)).toEqual(expected)
  })
})

describe('the state of the worker', () => {
  it.each<[string, ProbeResult, string[], ModelState]>([
    ['no server', { kind: 'unavailable' }, ['a'], 'unavailable'],
    ['a server of another kind', { kind: 'unhealthy' }, ['a'], 'unhealthy'],
    ['every model on its list', listed('a', 'b', 'c'), ['a', 'b'], 'ready'],
    ['one model missing', listed('a'), ['a', 'b'], 'model_missing'],
    ['no model of the team', listed(), [], 'ready'],
    ['the short name of a tagged model', listed('qwen3:latest'), ['qwen3'], 'ready'],
    ['another tag', listed('qwen3:8b'), ['qwen3'], 'model_missing'],
  ])('with %s', (_name, probe, models, expected) => {
    expect(judgeWorker(probe, models)).toBe(expected)
  })

  it('is not_configured without a worker, and so is the state of its models', () => {
    expect(toShownWorker(null, [servedModel('svc/a', { backendModel: 'a' })])).toMatchObject({
      state: 'not_configured',
      models: [{ id: 'svc/a', state: 'not_configured' }],
    })
  })

  it('counts the models that the directory gives the worker in `serve`', () => {
    const models = [
      servedModel('svc/a', { serve: [serveEntry('vendora', 'a-large'), serveEntry('local-engine', 'a')] }),
      servedModel('svc/b', { backendModel: 'b', serve: [serveEntry('vendora', 'b')] }),
    ]
    expect(toShownWorker(listed(), models)).toMatchObject({
      state: 'model_missing',
      models: [{ id: 'svc/a', backendModel: 'a', state: 'model_missing' }],
    })
  })

  it('is judged for each model by itself', () => {
    expect(judgeModel(listed('a'), 'a')).toBe('ready')
    expect(judgeModel(listed('a'), 'b')).toBe('model_missing')
    expect(judgeModel({ kind: 'unavailable' }, 'a')).toBe('unavailable')
  })
})

describe('a token limit', () => {
  it.each([
    ['too high', { max_tokens: 9000 }, { max_tokens: 4096 }],
    [
      'the name of each dialect',
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
  ])('that is %s', (_name, body, expected) => {
    expect(clampTokens(body, 4096)).toEqual(expected)
  })
})
