import path from 'node:path'
import ts from 'typescript'
import { expect, it } from 'vitest'
import type { Handlers } from '../../src/http/operation.ts'

/**
 * What must not compile. Each `@ts-expect-error` is an error by itself when the line under it compiles after all, so the
 * type check of the project is this file's test; the case at the end runs it for this file alone.
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

// @ts-expect-error: there is no such operation in the contract.
export const unknown: Handlers<'getWealth'> = { getWealth: getHealth }

export const wrongStatus: Health['getHealth'] = async (_req, res) => {
  // @ts-expect-error: the contract has no 201 here.
  res.status(201).json({ status: 'ok' })
}

export const statusOfAnother: Health['getReadiness'] = async (_req, res) => {
  res.status(503).json({ status: 'unavailable', database: 'unavailable' })
  // @ts-expect-error: 401 is another operation's.
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
  // @ts-expect-error: nobody declared `version`.
  res.status(200).json({ status: 'ok', version: '1' })
}

export const wrongValue: Health['getHealth'] = async (_req, res) => {
  // @ts-expect-error: not a status that the contract knows.
  res.status(200).json({ status: 'fine' })
}

// @ts-expect-error: an answer names its status first, so the reply itself has no `json`.
export type WithoutStatus = Parameters<Health['getHealth']>[1]['json']

/** Takes a text, so that naming a field is a use of it. */
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

it('what must not compile does not, and what must does', { timeout: 120_000 }, () => {
  const root = path.join(import.meta.dirname, '../..')
  const settings = ts.readConfigFile(path.join(root, 'tsconfig.json'), ts.sys.readFile) as { config: object }
  const { options } = ts.parseJsonConfigFileContent({ ...settings.config, include: [] }, ts.sys, root)
  const program = ts.createProgram([import.meta.filename], { ...options, noEmit: true })
  const file = program.getSourceFile(import.meta.filename)
  const problems = [...program.getSyntacticDiagnostics(file), ...program.getSemanticDiagnostics(file)]
  expect(
    problems.map(({ messageText, start = 0 }) => {
      const { line } = ts.getLineAndCharacterOfPosition(file as ts.SourceFile, start)
      return `${line + 1}: ${ts.flattenDiagnosticMessageText(messageText, '\n')}`
    }),
  ).toEqual([])
})
