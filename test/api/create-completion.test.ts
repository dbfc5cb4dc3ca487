import { describeCallOperation } from '../support/call-operation.ts'

const common = { id: 'cmpl-1', object: 'text_completion', created: 1, model: 'vendora/large' }

describeCallOperation({
  operationId: 'createCompletion',
  path: '/v1/completions',
  servedBy: 'vendora',
  body: { prompt: 'Once upon a' },
  answer: { ...common, choices: [{ index: 0, text: ' time', finish_reason: 'stop' }], usage: null },
  events: [{ ...common, choices: [{ index: 0, text: ' time', finish_reason: 'stop' }] }],
  mayBeUnsupported: true,
})
