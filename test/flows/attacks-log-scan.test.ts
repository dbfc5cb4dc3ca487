import { inspect } from 'node:util'
import { expect, it } from 'vitest'
import type { StartedDeviceLogin, TokenSet } from '../../generated/sdk/index.js'
import { cookiesOf, directoryOf, mailTokenOf, tokenOf } from '../support/people.ts'
import { bearerOf, bytes, expectJson, expectOk, json } from '../support/requests.ts'
import { startService } from '../support/service.ts'

const ADA = 'ada@example.com'

type Send = (pathname: string, init?: RequestInit) => Promise<Response>

/**
 * Signs in, uses and loses tokens, with requests that are refused; returns all secrets that were issued or presented.
 */
async function useSecrets(send: Send, newestMailToken: () => string): Promise<string[]> {
  const secrets: string[] = []
  let mailToken = ''
  const keep = (...values: (string | undefined)[]) => secrets.push(...values.filter((value) => value !== undefined))
  const begin = async (deviceId: string) => {
    const start = send('/v1/auth/device/start', json({ email: ADA, deviceId }))
    const started = await expectJson<StartedDeviceLogin>('The start', start)
    mailToken = newestMailToken()
    keep(started.deviceCode, started.userCode, tokenOf(started.verificationUri), mailToken)
    return started
  }
  const keepCookies = (response: Response) =>
    keep(
      ...cookiesOf(response)
        .split('; ')
        .map((cookie) => cookie.split('=').slice(1).join('='))
        .filter(Boolean),
    )

  const { deviceCode } = await begin('laptop-1')
  await send('/v1/auth/device/poll', json({ deviceCode }))
  await send(`/v1/auth/magic/consume?token=${mailToken}`)
  const consumed = await expectOk('The approval', send('/v1/auth/magic/consume', json({ token: mailToken })))
  keepCookies(consumed)
  await send('/v1/auth/magic/consume', json({ token: mailToken }))
  const tokens = await expectJson<TokenSet>('The poll', send('/v1/auth/device/poll', json({ deviceCode })))
  keep(tokens.accessToken, tokens.refreshToken)
  const cookieMode = { 'x-svc-use-cookies': 'true' }
  const inCookies = await expectOk('The poll', send('/v1/auth/device/poll', json({ deviceCode }, cookieMode)))
  keepCookies(inCookies)
  const bearer = bearerOf(tokens.accessToken)
  await send('/device', { headers: bearer })
  await send('/v1/models', { headers: bearer })

  const { key } = await expectJson<{ key: string }>('The API key', send('/v1/keys', json({ name: 'scan' }, bearer)))
  const asKey = bearerOf(key)
  keep(key)
  await send('/v1/models', { headers: asKey })
  await send('/v1/chat/completions', json({ model: 'svc/none', messages: [] }, asKey))
  await send('/vendorb/v1/models', { headers: { 'x-api-key': key } })
  await send('/v1/keys', json({ name: 'scan', surprise: key }, bearer))
  await send('/device', { headers: asKey })
  await send(`/v1/keys/${key}`, { method: 'DELETE', headers: bearer })
  await send(`/v1/models/${key}?key=${key}`, { headers: asKey })

  const second = await begin('laptop-2')
  await send('/device', json({ userCode: second.userCode }, { cookie: cookiesOf(consumed) }))

  const body = { account: ADA, refreshToken: tokens.refreshToken }
  const refreshed = await expectJson<TokenSet>('The refresh', send('/v1/auth/token/refresh', json(body)))
  keep(refreshed.accessToken, refreshed.refreshToken)

  // Requests that are refused for different reasons, each with a secret in it.
  await send('/v1/auth/token/refresh', bytes(`{"refreshToken":"${refreshed.refreshToken}"`, 'application/json'))
  await send('/v1/auth/token/refresh', json({ ...body, account: 'another@example.com' }))
  await send('/v1/auth/token/refresh', json(body, { 'user-agent': 'thief' }))
  await send('/v1/auth/device/poll', json({ deviceCode, extra: tokens.refreshToken }))
  await send(`/nowhere/${tokens.refreshToken}?token=${mailToken}`)
  await send('/v1/auth/logout', json({}, { ...bearer, cookie: cookiesOf(inCookies) }))
  return [...new Set(secrets)]
}

const leaksOf = (secrets: readonly string[], log: string) => secrets.filter((secret) => log.includes(secret))

it('writes no secret to the log, also when requests fail and the database is gone', async () => {
  await using service = await startService({ directory: directoryOf([ADA]) })
  const secrets = await useSecrets(service.fetch, () => mailTokenOf(service, ADA))
  // Without the database the errors carry causes and queries.
  await service.database.close()
  for (const secret of secrets.slice(0, 3)) {
    await service.fetch('/v1/auth/device/poll', json({ deviceCode: secret }))
    await service.fetch('/v1/auth/magic/consume', json({ token: secret }))
    await service.fetch('/device', { headers: { authorization: `Bearer ${secret}`, cookie: `svc_session=${secret}` } })
  }
  const log = inspect(service.log, { depth: 20, maxStringLength: null, maxArrayLength: null, showHidden: true })
  expect(secrets.length).toBeGreaterThan(10)
  expect(service.log.length).toBeGreaterThan(20)
  expect(leaksOf(secrets, log)).toEqual([])
})
