import type { Worker as Child } from 'node:cluster'
import { EventEmitter } from 'node:events'
import { expect, it } from 'vitest'
import { reloadChildren } from '../../src/server/processes/reload-children.ts'
import { recordingLog } from '../support/recording-log.ts'
import type { LogLine } from '../support/recording-log.ts'

/** A process that answers a question with this; null: it hangs. */
function childThatAnswers(pid: number, answer: { isApplied: boolean; text: string } | null): Child {
  const child = new EventEmitter()
  const send = ({ id }: { id: number }) => {
    if (answer) setImmediate(() => child.emit('message', { type: 'reloaded', id, ...answer }))
  }
  return Object.assign(child, { send, isDead: () => false, process: { pid } }) as unknown as Child
}

const applied = { isApplied: true, text: 'It was applied.' }

it('a reload names the process that does not answer, and the others apply the files', async () => {
  const lines: LogLine[] = []
  const asked: number[] = []
  const children = [childThatAnswers(7, applied), childThatAnswers(8, null), childThatAnswers(9, applied)]
  for (const child of children) child.on('message', () => asked.push(child.process.pid ?? 0))
  const reloading = reloadChildren(children, false, recordingLog(lines), 20)
  await expect(reloading).rejects.toThrow('No answer from process 8 within 0.02 seconds.')
  expect(asked).toEqual([7, 9])
  expect(lines).toMatchObject([{ event: 'reload.unanswered', fields: { pids: [8] } }])
})

it('a reload answers what the first process has applied', async () => {
  const children = [childThatAnswers(7, applied), childThatAnswers(8, { ...applied, text: 'Nothing has changed.' })]
  await expect(reloadChildren(children, false, recordingLog([]), 1000)).resolves.toBe('It was applied.')
})
