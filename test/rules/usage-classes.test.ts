import { describe, expect, it } from 'vitest'
import { NO_USAGE, toUsage } from '../../src/gateway/dialects/tokens/usage.ts'
import type { Counts, Usage } from '../../src/gateway/dialects/tokens/usage.ts'

type Case = readonly [name: string, counts: Counts, usage: Partial<Usage>]

const CASES: readonly Case[] = [
  ['chat without details', { prompt_tokens: 10, completion_tokens: 2 }, { inputTokens: 10, outputTokens: 2 }],
  ['an embedding, which has no output', { prompt_tokens: 10, total_tokens: 10 }, { inputTokens: 10 }],
  [
    'chat with a cache and reasoning',
    {
      prompt_tokens: 100,
      'prompt_tokens_details.cached_tokens': 60,
      'prompt_tokens_details.cache_write_tokens': 30,
      'prompt_tokens_details.cache_write_tokens_details.ttl_12h_tokens': 10,
      completion_tokens: 9,
      'completion_tokens_details.reasoning_tokens': 4,
      total_tokens: 109,
    },
    {
      inputTokens: 10,
      cacheReadTokens: 60,
      cacheWriteTokens: 20,
      cacheWriteLongTokens: 10,
      outputTokens: 9,
      reasoningTokens: 4,
    },
  ],
  [
    'chat of a server that counts reasoning beside the completion',
    {
      prompt_tokens: 100,
      completion_tokens: 9,
      'completion_tokens_details.reasoning_tokens': 40,
      total_tokens: 149,
    },
    { inputTokens: 100, outputTokens: 49, reasoningTokens: 40 },
  ],
  [
    'chat with the cache names of DeepSeek',
    { prompt_tokens: 100, prompt_cache_hit_tokens: 90, prompt_cache_miss_tokens: 10, completion_tokens: 1 },
    { inputTokens: 10, cacheReadTokens: 90, outputTokens: 1 },
  ],
  [
    'chat with the cache name of messages, which the input includes',
    { prompt_tokens: 5, completion_tokens: 6, cache_read_input_tokens: 4 },
    { inputTokens: 1, cacheReadTokens: 4, outputTokens: 6 },
  ],
  [
    'responses',
    {
      input_tokens: 300,
      'input_tokens_details.cached_tokens': 200,
      output_tokens: 50,
      'output_tokens_details.reasoning_tokens': 30,
    },
    { inputTokens: 100, cacheReadTokens: 200, outputTokens: 50, reasoningTokens: 30 },
  ],
  [
    'messages, whose input does not include the cache',
    {
      input_tokens: 10,
      cache_read_input_tokens: 1000,
      cache_creation_input_tokens: 100,
      'cache_creation.ephemeral_5m_input_tokens': 60,
      'cache_creation.ephemeral_1h_input_tokens': 40,
      output_tokens: 7,
      'output_tokens_details.thinking_tokens': 3,
    },
    {
      inputTokens: 10,
      cacheReadTokens: 1000,
      cacheWriteTokens: 60,
      cacheWriteLongTokens: 40,
      outputTokens: 7,
      reasoningTokens: 3,
    },
  ],
  [
    'messages that do not say for how long they cache',
    { input_tokens: 10, cache_creation_input_tokens: 100, cache_read_input_tokens: 0, output_tokens: 7 },
    { inputTokens: 10, cacheReadTokens: 0, cacheWriteTokens: 100, outputTokens: 7 },
  ],
  [
    'cached input beside the input, where the total shows it',
    { prompt_tokens: 5, 'prompt_tokens_details.cached_tokens': 80, completion_tokens: 3, total_tokens: 88 },
    { inputTokens: 5, cacheReadTokens: 80, outputTokens: 3 },
  ],
  [
    'responses with cached input beside the input',
    { input_tokens: 5, 'input_tokens_details.cached_tokens': 80, output_tokens: 3, total_tokens: 88 },
    { inputTokens: 5, cacheReadTokens: 80, outputTokens: 3 },
  ],
  [
    'more cached input than input, as input that is all cached',
    { prompt_tokens: 5, 'prompt_tokens_details.cached_tokens': 8, completion_tokens: 1 },
    { inputTokens: 0, cacheReadTokens: 5, outputTokens: 1 },
  ],
  [
    'more long writes than writes, as writes that are all long',
    {
      prompt_tokens: 10,
      'prompt_tokens_details.cache_write_tokens': 4,
      'prompt_tokens_details.cache_write_tokens_details.ttl_12h_tokens': 6,
      completion_tokens: 1,
    },
    { inputTokens: 6, cacheWriteTokens: 0, cacheWriteLongTokens: 4, outputTokens: 1 },
  ],
  ['nothing as unknown, never as zero', {}, {}],
]

describe('token classes', () => {
  it.each(CASES)('reads %s', (_, counts, usage) => {
    expect(toUsage(counts)).toEqual({ ...NO_USAGE, ...usage })
  })
})
