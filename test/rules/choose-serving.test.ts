import { describe, expect, it } from 'vitest'
import { chooseServing } from '../../src/gateway/calls/rules.ts'
import type { Serving } from '../../src/gateway/calls/rules.ts'
import type { WorkerState } from '../../src/gateway/workers/rules.ts'

const LOCAL = { backendModel: 'qwen3:8b', upstreamModel: null }
const BOTH = { backendModel: 'qwen3:8b', upstreamModel: 'large-2026' }
const REMOTE = { backendModel: null, upstreamModel: 'large-2026' }
const PLAIN = { backendModel: null, upstreamModel: null }

describe('who serves a call', () => {
  it.each<
    [
      string,
      typeof LOCAL | typeof BOTH | typeof REMOTE | typeof PLAIN,
      WorkerState,
      'speaks' | 'mute',
      'upstream' | 'none',
      Serving,
    ]
  >([
    ['a local model goes to the worker', LOCAL, 'ready', 'speaks', 'none', 'local-engine'],
    [
      'a local model goes to the worker although there is an upstream',
      LOCAL,
      'ready',
      'speaks',
      'upstream',
      'local-engine',
    ],
    [
      'a model with both names goes to the worker while that is ready',
      BOTH,
      'ready',
      'speaks',
      'upstream',
      'local-engine',
    ],
    [
      '... and to the upstream when the worker cannot be reached',
      BOTH,
      'unavailable',
      'speaks',
      'upstream',
      'upstream',
    ],
    ['... and to the upstream when the worker is unhealthy', BOTH, 'unhealthy', 'speaks', 'upstream', 'upstream'],
    ['... and to the upstream when the worker has not got it', BOTH, 'model_missing', 'speaks', 'upstream', 'upstream'],
    ['... and to the upstream when no worker is configured', BOTH, 'not_configured', 'speaks', 'upstream', 'upstream'],
    ['... and is tried on the worker when there is no upstream', BOTH, 'unavailable', 'speaks', 'none', 'local-engine'],
    [
      'a local model the upstream knows no name of is tried on the worker',
      LOCAL,
      'unavailable',
      'speaks',
      'upstream',
      'local-engine',
    ],
    ['... also when its list lacks it', LOCAL, 'model_missing', 'speaks', 'upstream', 'local-engine'],
    ['a local model without a worker goes to the upstream', LOCAL, 'not_configured', 'speaks', 'upstream', 'upstream'],
    [
      'a local model without worker and upstream is not available',
      LOCAL,
      'not_configured',
      'speaks',
      'none',
      'nothing',
    ],
    [
      'a style that the worker does not speak goes to the upstream by name',
      BOTH,
      'ready',
      'mute',
      'upstream',
      'upstream',
    ],
    ['... and is not available without a name there', LOCAL, 'ready', 'mute', 'upstream', 'nothing'],
    ['... or without an upstream', BOTH, 'ready', 'mute', 'none', 'nothing'],
    ['a model of the upstream goes there', REMOTE, 'ready', 'speaks', 'upstream', 'upstream'],
    [
      'a model without any name goes to the upstream under its id',
      PLAIN,
      'not_configured',
      'speaks',
      'upstream',
      'upstream',
    ],
    ['an upstream never steps aside for the worker', REMOTE, 'ready', 'speaks', 'none', 'nothing'],
  ])('%s', (_name, model, worker, speaks, upstream, expected) => {
    expect(
      chooseServing({ model, worker, speaksStyle: speaks === 'speaks', hasUpstream: upstream === 'upstream' }),
    ).toBe(expected)
  })
})
