import { expect, it } from 'vitest'
import { AddressError } from '../../src/server/listener.ts'

it.each([
  ['EADDRINUSE', 'Another process listens there. Stop it or set SVC_PORT.'],
  ['EMFILE', 'This process may open too few files. Raise its limit (LimitNOFILE, ulimit -n).'],
  ['EACCES', 'Check SVC_HOST and SVC_PORT.'],
])('an address that gives %s is refused with what to do', (code, cure) => {
  const { message } = new AddressError('127.0.0.1', 80, 'SVC_PORT', code)
  expect(message).toBe(`Cannot listen on 127.0.0.1, port 80 (${code}). ${cure}`)
})
