/** A defect of the service in one answer. */
import { expect, it } from 'vitest'
import { openHttpServer } from '../../src/server/http-server.ts'
import { SERVER_TIMEOUTS } from '../../src/server/listener.ts'
import { closeHttpServer, listenOnLoopback } from '../support/loopback.ts'
import { recordingLog } from '../support/recording-log.ts'
import type { LogLine } from '../support/recording-log.ts'
import { waitUntil } from '../support/wait.ts'

it('a write after the end is logged with the id of the request, and does not end the process', async () => {
  const lines: LogLine[] = []
  const { server } = openHttpServer(
    (_req, res) => {
      res.setHeader('x-request-id', 'req_1').end('whole')
      res.write('more')
    },
    SERVER_TIMEOUTS,
    { log: recordingLog(lines) },
  )
  const port = await listenOnLoopback(server)
  try {
    for (const calls of [1, 2]) {
      const answer = await fetch(`http://127.0.0.1:${port}/`)
      expect(await answer.text()).toBe('whole')
      await waitUntil(
        'a line of the log',
        () => lines.length,
        (count) => count === calls,
      )
    }
    expect(lines[0]).toMatchObject({ level: 'error', event: 'http.answer_failed', fields: { requestId: 'req_1' } })
    expect(lines[0]?.fields).toHaveProperty('err.code', 'ERR_STREAM_WRITE_AFTER_END')
  } finally {
    await closeHttpServer(server)
  }
})
