import type { Handlers } from '../../src/http/operation.ts'

/**
 * Code that must not compile. A `@ts-expect-error` is an error when the line after it does compile, so `npm run types`
 * tests this file.
 */
type Health = Handlers<'getHealth' | 'getReadiness'>
type Poll = Handlers<'pollDeviceLogin'>['pollDeviceLogin']
type Refresh = Handlers<'refreshTokens'>['refreshTokens']
type Approve = Handlers<'approveDevice'>['approveDevice']
type Refuse = Handlers<'getDeviceStatus'>['getDeviceStatus']

const getHealth: Health['getHealth'] = async (_req, res) => res.status(200).json({ status: 'ok' })
const getReadiness: Health['getReadiness'] = async (_req, res) => res.status(200).json({ status: 'ok', database: 'ok' })

export const whole: Health = { getHealth, getReadiness }

// @ts-expect-error: an operation has no handler.
export const missing: Health = { getHealth }

// @ts-expect-error: a handler has no operation.
export const extra: Health = { getHealth, getReadiness, getWealth: getHealth }

// @ts-expect-error: the contract has no such operation.
export const unknown: Handlers<'getWealth'> = { getWealth: getHealth }

export const wrongStatus: Health['getHealth'] = async (_req, res) => {
  // @ts-expect-error: the contract has no 201 here.
  res.status(201).json({ status: 'ok' })
}

export const statusOfAnother: Health['getReadiness'] = async (_req, res) => {
  res.status(503).json({ status: 'unavailable', database: 'unavailable' })
  // @ts-expect-error: this operation has no 401.
  res.status(401).json({ status: 'unavailable', database: 'unavailable' })
}

export const codeOfAnotherStatus: Refuse = async (_req, res) => {
  const auth = { deviceStart: '/', page: '/' }
  const error = { type: 'authentication_error', message: '' } as const
  res.status(401).json({ type: 'error', error: { ...error, code: 'authenticate_first' }, auth })
  // @ts-expect-error: this code belongs to 410.
  res.status(401).json({ type: 'error', error: { ...error, code: 'expired' }, auth })
}

export const missingField: Health['getReadiness'] = async (_req, res) => {
  // @ts-expect-error: `database` is missing.
  res.status(200).json({ status: 'ok' })
}

export const unknownField: Health['getHealth'] = async (_req, res) => {
  // @ts-expect-error: the contract has no field `version`.
  res.status(200).json({ status: 'ok', version: '1' })
}

export const wrongValue: Health['getHealth'] = async (_req, res) => {
  // @ts-expect-error: the contract has no status `fine`.
  res.status(200).json({ status: 'fine' })
}

// @ts-expect-error: `json` needs a status first, so the reply has no `json`.
export type WithoutStatus = Parameters<Health['getHealth']>[1]['json']

/** Uses a field. */
const read = (_text: string | undefined) => undefined

export const unreadField: Poll = async (req) => {
  read(req.body.deviceCode)
  // @ts-expect-error: the request has no such field.
  read(req.body.userCode as string)
}

export const optionalField: Approve = async (req) => {
  read(req.body.action?.trim())
  // @ts-expect-error: `action` may be left out.
  read(req.body.action.trim())
}

export const optionalBody: Refresh = async (req) => {
  read(req.body?.refreshToken)
  // @ts-expect-error: in cookie mode there is no body.
  read(req.body.refreshToken)
}

export const parameterOfThePath: Handlers<'getTeam'>['getTeam'] = async (req) => {
  read(req.params.team)
  // @ts-expect-error: the path has no such parameter.
  read(req.params.organization as string)
}

export const parameterOfTheQuery: Handlers<'showMagicLink'>['showMagicLink'] = async (req) => {
  read(req.query.token)
  // @ts-expect-error: the query has no such parameter.
  read(req.query.next as string)
}
