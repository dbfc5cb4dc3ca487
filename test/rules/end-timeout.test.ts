import { ServerResponse } from 'node:http'
import type { IncomingMessage } from 'node:http'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { EndTimeout } from '../../src/gateway/exchange/end-timeout.ts'

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }))
afterEach(() => void vi.useRealTimers())

function open({ unreadBytes = 0 } = {}) {
  const done: string[] = []
  const res = new ServerResponse({} as IncomingMessage)
  if (unreadBytes > 0) res.write(Buffer.alloc(unreadBytes))
  return { done, timeout: new EndTimeout({ abort: () => done.push('abort'), res }, { end: () => done.push('end') }) }
}

it('does not end a stream that sends content after its finish reason, until its answer is complete', () => {
  const { done, timeout } = open()
  timeout.note('finishing', true)
  timeout.note('open', true)
  vi.advanceTimersByTime(60_000)
  expect(done).toEqual([])
  timeout.note('ended', true)
  vi.advanceTimersByTime(250)
  expect(done).toEqual(['end', 'abort'])
})

it('waits for the usage of a stream while its caller does not read', () => {
  const { done, timeout } = open({ unreadBytes: 1_000_000 })
  timeout.note('finishing', true)
  vi.advanceTimersByTime(60_000)
  expect(done).toEqual([])
  timeout.stop()
})
