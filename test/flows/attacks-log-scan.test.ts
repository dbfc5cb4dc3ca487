import { inspect } from 'node:util'
import { expect, it } from 'vitest'
import { cookiesOf, directoryOf, mailTokenOf, tokenOf } from '../support/people.ts'
import { linkOf, openMailbox } from '../support/mailbox.ts'
import type { Mailbox } from '../support/mailbox.ts'
import { newFolder, startProcess } from '../support/process.ts'
import { bytes, json } from '../support/requests.ts'
import { startService } from '../support/service.ts'
import { writeFile } from 'node:fs/promises'
import path from 'node:path'

const ADA = 'ada@example.com'

type Send = (pathname: string, init?: RequestInit) => Promise<Response>

/** Walks a login, with mistakes on the way, and gives every secret that was issued or presented in it. */
async function walk(send: Send, mailToken: () => string): Promise<string[]> {
  const secrets: string[] = []
  const keep = (...values: (string | undefined)[]) => secrets.push(...values.filter((value) => value !== undefined))
  const begin = async (deviceId: string) => {
    const response = await send('/v1/auth/device/start', json({ email: ADA, deviceId }))
    const started = (await response.json()) as { deviceCode: string; userCode: string; verificationUri: string }
    keep(started.deviceCode, started.userCode, tokenOf(started.verificationUri), mailToken())
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
  await send(`/v1/auth/magic/consume?token=${mailToken()}`)
  const consumed = await send('/v1/auth/magic/consume', json({ token: mailToken() }))
  keepCookies(consumed)
  await send('/v1/auth/magic/consume', json({ token: mailToken() }))
  const tokens = (await (await send('/v1/auth/device/poll', json({ deviceCode }))).json()) as Record<string, string>
  keep(tokens['accessToken'], tokens['refreshToken'])
  const inCookies = await send('/v1/auth/device/poll', json({ deviceCode }, { 'x-svc-use-cookies': 'true' }))
  keepCookies(inCookies)
  const bearer = { authorization: `Bearer ${tokens['accessToken']}` }
  await send('/device', { headers: bearer })
  await send('/v1/models', { headers: bearer })

  const second = await begin('laptop-2')
  await send('/device', json({ userCode: second.userCode }, { cookie: cookiesOf(consumed) }))

  const body = { account: ADA, refreshToken: tokens['refreshToken'] }
  const refreshed = (await (await send('/v1/auth/token/refresh', json(body))).json()) as Record<string, string>
  keep(refreshed['accessToken'], refreshed['refreshToken'])

  // Requests that go wrong in every way, each with a secret in it.
  await send('/v1/auth/token/refresh', bytes(`{"refreshToken":"${refreshed['refreshToken']}"`, 'application/json'))
  await send('/v1/auth/token/refresh', json({ ...body, account: 'stranger@example.com' }))
  await send('/v1/auth/token/refresh', json(body, { 'user-agent': 'thief' }))
  await send('/v1/auth/device/poll', json({ deviceCode, extra: tokens['refreshToken'] }))
  await send(`/nowhere/${tokens['refreshToken']}?token=${mailToken()}`)
  await send('/v1/auth/logout', json({}, { ...bearer, cookie: cookiesOf(inCookies) }))
  return [...new Set(secrets)]
}

const leaksOf = (secrets: readonly string[], log: string) => secrets.filter((secret) => log.includes(secret))

it('no secret of a whole run is in what the service says to its log', async () => {
  await using service = await startService({ directory: directoryOf([ADA]) })
  const secrets = await walk(service.fetch, () => mailTokenOf(service, ADA))
  // With the database gone the errors are long.
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

it.each(['smtp', 'outbox'])(
  'no secret of a whole run is in what a real process writes (%s)',
  { timeout: 60_000 },
  async (kind) => {
    await using folder = await newFolder()
    await using mailbox: Mailbox = await openMailbox()
    const directoryFile = path.join(folder.path, 'directory.yaml')
    await writeFile(directoryFile, directoryOf([ADA]))
    const running = await startProcess({
      SVC_DATABASE_URL: 'memory:',
      SVC_DIRECTORY_FILE: directoryFile,
      SVC_MAIL_URL: kind === 'smtp' ? mailbox.url : `outbox:${path.join(folder.path, 'mails')}`,
      SVC_LOG_LEVEL: 'debug',
    })
    try {
      const shown = () =>
        running
          .output()
          .split('\n')
          .filter((line) => line.includes('"mail.outbox"'))
      const newestLink = () =>
        kind === 'smtp' ? linkOf(mailbox.newest(ADA)) : (JSON.parse(shown().at(-1) ?? '{}') as { link: string }).link
      const secrets = await walk(
        (pathname, init) => fetch(running.origin + pathname, init),
        () => tokenOf(newestLink()),
      )
      const { stdout, stderr } = await running.stop()

      // The outbox shows its links, to the developer who has set it.
      const lines = stdout.split('\n').filter((line) => !line.includes('"mail.outbox"'))
      expect(secrets.length).toBeGreaterThan(10)
      expect(lines.length).toBeGreaterThan(20)
      expect(leaksOf(secrets, lines.join('\n') + stderr)).toEqual([])
      expect(lines.join('\n')).not.toContain(ADA)
    } finally {
      await running.kill()
    }
  },
)
