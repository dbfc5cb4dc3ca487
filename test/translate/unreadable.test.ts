/** Images and files for a model that does not read them. */
import { describe, expect, it } from 'vitest'
import { pair, refusalOf } from './pairs.ts'

const caps = { images: false, pdf: false }
const png = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } }
const pdf = { type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: 'AAAA' } }
const page = { type: 'document', source: { type: 'base64', media_type: 'text/html', data: 'PGh0bWw+' } }

const asked = { role: 'user', content: 'Read it.' }
const call = { role: 'assistant', content: [{ type: 'tool_use', id: 't1', name: 'read', input: {} }] }
const resultOf = (...content: object[]) => ({
  role: 'user',
  content: [{ type: 'tool_result', tool_use_id: 't1', content }],
})

describe.each(['chat', 'responses'] as const)('at a %s backend', (backend) => {
  const sent = (messages: object[]) => JSON.stringify(pair('messages', backend, { messages }, { caps }).request)

  it('the result of a tool says what was left out, so that the agent can go on', () => {
    const request = sent([asked, call, resultOf(png, pdf, page)])
    expect(request).toContain('[Left out: image. This model cannot read it.]')
    expect(request).toContain('[Left out: file. This model cannot read it.]')
    expect(request).toContain('<html>')
    expect(request).not.toContain('AAAA')
  })

  it('so does the conversation before the last answer, which another model may have had', () => {
    const request = sent([{ role: 'user', content: [png, pdf] }, { role: 'assistant', content: 'Seen.' }, asked])
    expect(request).toContain('[Left out: image. This model cannot read it.]')
    expect(request).toContain('[Left out: file. This model cannot read it.]')
  })

  it.each([png, pdf])('what the user says now is refused: $type', (part) => {
    const messages = [asked, { role: 'assistant', content: 'Yes?' }, { role: 'user', content: [part] }]
    expect(refusalOf('messages', backend, { messages }, { caps })).toMatch(/^messages\.2\.content\.0/)
  })
})

it('a model that reads images and files gets them', () => {
  const body = { messages: [asked, call, resultOf(png, pdf)] }
  const request = JSON.stringify(pair('messages', 'responses', body, { caps: { images: true, pdf: true } }).request)
  expect(request.match(/AAAA/g)).toHaveLength(2)
})
