import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { makeNotifier } from '../../src/control/mails/notify.ts'
import { recordingLog } from '../support/recording-log.ts'

it('settled() waits for the email that background work sends last', async () => {
  const sent: string[] = []
  const mailer = {
    async send({ to }: { readonly to: string }) {
      await sleep(20)
      sent.push(to)
    },
    close: () => undefined,
  }
  const notify = makeNotifier({ mailer, baseUrl: 'http://localhost:8787', commandUrl: null, log: recordingLog([]) })
  const invited = { team: '@acme/core', role: 'member', invitedBy: 'ada@example.com' } as const
  notify.inBackground(sleep(20).then(() => notify.invited('grace@example.com', invited)))
  await notify.settled()
  expect(sent).toEqual(['grace@example.com'])
})
