import { describe, expect, it } from 'vitest'
import { isDatabaseUnavailable, mayWriteLater, withRetry } from '../../src/database/errors.ts'

const errorWith = (fields: object, message = 'x') => Object.assign(new Error(message), fields)

function circle(): Error {
  const error = new Error('x')
  error.cause = new Error('y', { cause: error })
  return error
}

describe('the database is unavailable', () => {
  it.each([
    // Prisma.
    ...['P1000', 'P1001', 'P1002', 'P1003', 'P1008', 'P1010', 'P1011', 'P1017', 'P2024', 'P2034', 'P2037'],
    // Sockets.
    ...['ECONNREFUSED', 'ECONNRESET', 'ECONNABORTED', 'EPIPE', 'ETIMEDOUT'],
    ...['ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'EHOSTDOWN', 'ENETUNREACH'],
    // PostgreSQL, appendix A.
    ...['08006', '28P01', '3D000', '40001', '40P01', '53300', '57P01', '57014', '58030', '55P03', '25P03', '25006'],
  ])('with the code %s, of the driver or of its adapter', (code) => {
    expect(isDatabaseUnavailable(errorWith({ code }))).toBe(true)
    expect(isDatabaseUnavailable({ originalCode: code })).toBe(true)
  })

  it.each(['DatabaseNotReachable', 'ConnectionClosed', 'SocketTimeout', 'TlsConnectionError'])(
    'with the kind %s of a driver adapter',
    (kind) => {
      expect(isDatabaseUnavailable({ kind })).toBe(true)
    },
  )

  it.each([{ syscall: 'connect' }, { syscall: 'getaddrinfo' }, { severity: 'FATAL' }, { severity: 'PANIC' }])(
    'where there is no connection: %j',
    (fields) => {
      expect(isDatabaseUnavailable(errorWith({ ...fields, code: 'XX000' }))).toBe(true)
    },
  )

  it.each([
    'timeout exceeded when trying to connect',
    'timeout expired',
    'Connection terminated unexpectedly',
    'Client has encountered a connection error and is not queryable',
    'Cannot use a pool after calling end on the pool',
    'Unable to start a transaction in the given time.',
    'A query cannot be executed on an expired transaction.',
    'PGlite is closed',
  ])('with the message: %s', (message) => {
    expect(isDatabaseUnavailable(new Error(message))).toBe(true)
  })

  const refused = errorWith({ code: 'ECONNREFUSED' })
  it.each<[string, unknown]>([
    ['a cause', new Error('x', { cause: refused })],
    ['a cause of a cause', new Error('x', { cause: new Error('y', { cause: refused }) })],
    ['one of several errors', new AggregateError([new Error('y'), refused])],
    ['the error of the driver in what Prisma adds', errorWith({ meta: { driverAdapterError: refused } })],
  ])('where that is %s', (_, error) => {
    expect(isDatabaseUnavailable(error)).toBe(true)
  })
})

it.each<[string, unknown]>([
  ['a unique constraint', errorWith({ code: 'P2002' })],
  ['a foreign key', errorWith({ code: '23503' })],
  ['a division by zero', errorWith({ code: '22012', severity: 'ERROR' })],
  ['a code that only contains one', errorWith({ code: 'X57014' })],
  ['a code that only begins with one', errorWith({ code: '570140' })],
  ['a file', errorWith({ code: 'ENOENT', syscall: 'open' })],
  ['another kind', { kind: 'UniqueConstraintViolation' }],
  ['causes that go round in a circle', circle()],
  ['a text', 'timeout expired'],
  ['nothing', null],
])('the database is available after an error of %s', (_, error) => {
  expect(isDatabaseUnavailable(error)).toBe(false)
})

it.each([
  ['42P01', true],
  ['42501', true],
  ['57P01', true],
  ['23505', false],
  ['P2002', false],
  ['P4200', false],
  ['420000', false],
  ['X42P01', false],
])('after the code %s, the same write may succeed later: %s', (code, expected) => {
  expect(mayWriteLater(errorWith({ cause: { originalCode: code } }))).toBe(expected)
})

describe('a transaction', () => {
  /** A transaction that fails with this code a number of times. */
  function failing(code: string, times: number) {
    let runs = 0
    const run = () => (++runs > times ? Promise.resolve(runs) : Promise.reject(errorWith({ code })))
    return { run, runs: () => runs }
  }

  it.each(['40001', '40P01', 'P2034'])('is retried after %s', async (code) => {
    expect(await withRetry(failing(code, 1).run)).toBe(2)
  })

  it('is retried seven times', async () => {
    const { run, runs } = failing('40001', 8)
    await expect(withRetry(run)).rejects.toMatchObject({ code: '40001' })
    expect(runs()).toBe(8)
  })

  it('is not retried after another error', async () => {
    const { run, runs } = failing('57P01', 1)
    await expect(withRetry(run)).rejects.toMatchObject({ code: '57P01' })
    expect(runs()).toBe(1)
  })
})
