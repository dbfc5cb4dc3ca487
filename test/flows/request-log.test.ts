import { expect, it } from 'vitest'
import { startGateway } from '../support/gateway.ts'
import { servedModel } from '../support/served-models.ts'
import { answersJson, startUpstream } from '../support/upstream.ts'
import { waitForValue } from '../support/wait.ts'

const PATH = '/v1/chat/completions'
const MESSAGES = [{ role: 'user', content: 'hi' }]

it('says with which code the service has refused a request, and none for the error of a backend', async () => {
  await using upstream = await startUpstream()
  upstream.restart(answersJson({ error: { message: 'no such parameter' } }, { status: 400 }))
  await using gateway = await startGateway({ team: { models: [servedModel('v/large')] }, vendora: upstream.url })
  await gateway.post(PATH, { model: 'v/other', messages: MESSAGES })
  await gateway.post(PATH, { model: 'v/large', messages: MESSAGES })
  await gateway.post(PATH, { model: 'v/large', messages: MESSAGES }, { headers: { authorization: 'Bearer wrong' } })
  const lines = () => gateway.log.filter(({ event }) => event === 'http.request')
  await waitForValue('three lines', () => lines().length, 3)
  const seen = lines().map(({ fields }) => fields as { readonly status: number; readonly code?: string })
  const refusals = seen.map(({ status, code }) => [status, code]).toSorted()
  expect(refusals).toEqual([
    [400, undefined],
    [401, 'unauthorized'],
    [403, 'model_not_allowed'],
  ])
})
