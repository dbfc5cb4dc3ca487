import { teamKeysPage } from '../../../../src/control/console/keys/keys-page.ts'
import type { TeamKeysPage } from '../../../../src/control/console/keys/keys-page.ts'
import { Secret } from '../../../../src/kernel/secret.ts'
import type { Words } from '../sample-pages.ts'
import type { Sample, Viewers } from './viewers.ts'

/** The service accounts of a team and their API keys. */
export function sampleKeyPages(words: Words, { admin }: Viewers): Sample[] {
  return [
    ['team-keys', teamKeysPage(admin, keysOf(words))],
    ['team-keys-empty', teamKeysPage(admin, { ...keysOf(words), accounts: [], fresh: false, madeKey: null })],
  ]
}

const AT = new Date('2026-11-21T08:59:00Z')

function keysOf(words: Words): TeamKeysPage {
  const key = {
    id: 'k1',
    serviceAccountId: 'a1',
    name: words.passkeyName,
    prefix: 'svck_7Fq2',
    team: words.team,
    models: null,
    createdAt: AT,
    expiresAt: new Date('2027-02-19T09:00:00Z'),
    lastUsedAt: AT,
    replacedBy: null,
  }
  const account = { id: 'a1', name: 'nightly-review', team: words.team, createdAt: AT, createdBy: words.email }
  return {
    accounts: [
      { ...account, activeKeys: 1, lastUsedAt: AT },
      { ...account, id: 'a2', name: 'build-server', activeKeys: 0, lastUsedAt: null },
    ],
    keys: [key],
    models: ['svc/fast', words.otherDeviceName],
    fresh: true,
    formId: 'f1',
    notice: 'key_made',
    madeKey: { key: new Secret('svck_7Fq2LCVzYzCNiM_BC7CT_dxt1IPH4N-loV3lJL41fgAycBLCg'), info: key },
    draft: null,
  }
}
