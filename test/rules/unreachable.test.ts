import { Pool } from 'undici'
import { expect, it } from 'vitest'
import { sendAndWait } from '../../src/gateway/exchange/send.ts'
import type { BackendRequest } from '../../src/gateway/exchange/send.ts'
import { UNTRUSTED_CERTIFICATE } from '../../src/kernel/error-code.ts'

const REQUEST: BackendRequest = { method: 'GET', path: '/', headers: [], body: null }

it.each([...UNTRUSTED_CERTIFICATE, 'ECONNREFUSED', 'CERT_HAS_EXPIRED', 'ERR_TLS_CERT_ALTNAME_INVALID'])(
  'a backend is unreachable when connecting to it fails with %s',
  async (code) => {
    const error = Object.assign(new Error('no connection'), { code })
    const pool = new Pool('https://backend.example', { connect: (_options, onEnd) => onEnd(error, null) })
    try {
      const reply = await sendAndWait(pool, REQUEST, { timeoutMs: 2000, maxBytes: 100 })
      expect(reply).toEqual({ kind: 'unreachable', reason: code })
    } finally {
      await pool.destroy()
    }
  },
)
