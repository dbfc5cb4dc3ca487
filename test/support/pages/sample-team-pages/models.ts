import type { TeamBackendList } from '../../../../generated/openapi.ts'
import { NO_OUTCOME } from '../../../../src/control/console/models/models-outcome.ts'
import { modelsPage } from '../../../../src/control/console/models/models-page.ts'
import type { ModelsPage } from '../../../../src/control/console/models/models-page.ts'
import type { Words } from '../sample-pages.ts'
import type { Sample, Viewers } from './viewers.ts'

/** The models of a team, and its backends. */
export function sampleModelPages(words: Words, { admin, member }: Viewers): Sample[] {
  const models = teamModels(words)
  return [
    [
      'team-models',
      modelsPage(admin, {
        models,
        defaultModel: 'svc/fast',
        defaultModelSource: 'admin',
        admin: { ...teamBackends(words), fresh: true },
        notice: 'backend_invalid',
        detail: 'URL, without /v1: must be an https:// URL.',
        mistakes: { url: 'Must be an https:// URL.', dialects: 'Must name at least one dialect.' },
        draft: { action: 'add-backend', backend: words.deviceName, url: 'http://vendor.example', messages: '1' },
      }),
    ],
    [
      'team-models-member',
      modelsPage(member, {
        models,
        defaultModel: null,
        defaultModelSource: null,
        admin: null,
        ...NO_OUTCOME,
      }),
    ],
  ]
}

function teamModels(words: Words): ModelsPage['models'] {
  const model = {
    source: 'file',
    contextWindow: null,
    own: null,
    published: true,
    usable: true,
    version: null,
  } as const
  const serve = ['vendorb', 'vendorb-eu', 'local-engine'].map((backend, rank) => {
    return { backend, model: 'writer', when: 'always', rank, weight: 1 } as const
  })
  return [
    { ...model, id: 'svc/fast', displayName: 'Fast', aliases: [], serve: [] },
    {
      ...model,
      id: 'vendorb/writer',
      displayName: words.passkeyName,
      source: 'admin',
      aliases: ['claude-opus-4-7', words.deviceName],
      contextWindow: 200_000,
      own: { contextWindow: 200_000, caps: {} },
      serve,
      published: false,
      usable: false,
      version: 'v1',
    },
  ]
}

function teamBackends({ deviceName, passkeyName }: Words): TeamBackendList {
  const setAt = '2026-11-22T09:00:00.000Z'
  const none = { url: null, basePath: null, credential: null, problem: null, version: null }
  return {
    allowedHosts: ['api.vendor.example', '*.models.example'],
    backends: [
      { ...none, name: 'vendorb-eu', source: 'file', dialects: ['messages'] },
      {
        name: `acme/core/${deviceName}`,
        source: 'admin',
        dialects: ['chat', 'responses'],
        url: `https://api.vendor.example/${passkeyName}`,
        basePath: '/v1',
        credential: { as: 'x-api-key', setAt },
        problem: 'credential_unreadable',
        version: 'v2',
      },
    ],
  }
}
