import type { ListedKey } from '../../../src/control/api-keys/store.ts'
import { devicePage } from '../../../src/control/device-page/device-page.ts'
import type { DevicePage } from '../../../src/control/device-page/device-page.ts'
import { waitingPage } from '../../../src/control/magic-link/waiting-page.ts'
import {
  approvedBeforePage,
  approvedPage,
  deniedPage,
  deniedTooLatePage,
  endedLoginPage,
  expiredLinkPage,
  invalidLinkPage,
  signedOutPage,
  usedLinkPage,
} from '../../../src/control/pages/answer-pages.ts'
import { confirmPage } from '../../../src/control/pages/confirm-page.ts'
import { errorPage } from '../../../src/control/pages/error-page.ts'
import { homePage } from '../../../src/control/pages/home-page.ts'
import { SESSION_SHELL } from '../../../src/control/pages/session-shell.ts'
import { linkSentPage, refusedSignInLinkPage, signInLinkPage } from '../../../src/control/pages/sign-in-link-pages.ts'
import { deviceSignInPage, signInPage, teamSignInPage } from '../../../src/control/pages/sign-in-page.ts'
import type { Html } from '../../../src/http/page.ts'
import { Secret } from '../../../src/kernel/secret.ts'
import { sampleTeamPages } from './sample-team-pages.ts'

/** Texts that other people choose and pages show. */
export type Words = {
  readonly deviceName: string
  readonly otherDeviceName: string
  readonly passkeyName: string
  readonly email: string
  readonly team: string
  readonly ip: string
  readonly userCode: string
  readonly requestId: string
}

export const FRIENDLY: Words = {
  deviceName: 'Ada’s laptop',
  otherDeviceName: 'build-runner-03.internal',
  passkeyName: 'Work laptop',
  email: 'ada@example.com',
  team: '@acme/core',
  ip: '203.0.113.7',
  userCode: 'BCDF-GHJK',
  requestId: 'req_01JD6Z8M3N',
}

/** Markup, quotes, templates, direction-changing characters, and texts of the maximum length. */
export const HOSTILE: Words = {
  deviceName: '<img src=x onerror=globalThis.pwned=1>"\'><script>globalThis.pwned=1</script>',
  otherDeviceName: '\u202Etxt.exe\u202C \u05D0\u05D1\u05D2 {{7*7}} ${x} &amp; </q></p></main>',
  passkeyName: 'W'.repeat(64),
  email: `${'<b>x</b>'.repeat(20)}@${'e'.repeat(80)}.example`,
  team: `@${'o'.repeat(60)}/<i>${'t'.repeat(60)}`,
  ip: '2001:0db8:85a3:0000:0000:8a2e:0370:7334',
  userCode: '"><WWW-WWWW',
  requestId: '<u>req_01JD6Z8M3N</u>',
}

/** All pages of the service, by name, filled with these texts. */
export function samplePages(words: Words): Map<string, Html> {
  return new Map([...plainPages(words), ...scriptedPages(words), ...sampleTeamPages(words)])
}

type Named = [name: string, page: Html]

const TOKEN = new Secret('svcm_Q1w2E3r4T5y6U7i8O9p0A1s2D3f4G5h6J7k8L9z0X1c')

function plainPages(words: Words): Named[] {
  return [
    ['confirm', confirmPage({ ...confirmData(words), mode: 'click' })],
    ['confirm-other-ip', confirmPage({ ...confirmData(words, false), mode: 'click', replacesOther: true })],
    ['confirm-code', confirmPage({ ...confirmData(words), mode: 'code' })],
    ['approved', approvedPage(words)],
    ['approved-before', approvedBeforePage({ ...words, signIn: { token: TOKEN, replacesOther: true } })],
    ['approved-before-code', approvedBeforePage({ ...words, signIn: null })],
    ['denied', deniedPage(words)],
    ['denied-too-late', deniedTooLatePage()],
    ['used', usedLinkPage({ justApproved: false })],
    ['used-just-now', usedLinkPage({ justApproved: true })],
    ['expired', expiredLinkPage()],
    ['ended', endedLoginPage()],
    ['invalid', invalidLinkPage()],
    ['wrong-code', confirmPage({ ...confirmData(words), mode: 'code', wrongCode: true })],
    ['signed-out', signedOutPage({ everywhere: false })],
    ['signed-out-everywhere', signedOutPage({ everywhere: true })],
    ['link-sent', linkSentPage({ email: words.email, isKnown: false })],
    ['link-sent-known', linkSentPage({ email: words.email, isKnown: true })],
    [
      'sign-in-link',
      signInLinkPage({ ...signInLinkData(words), mode: 'click', replacesOther: false, wrongEmail: false }),
    ],
    [
      'sign-in-link-code',
      signInLinkPage({ ...signInLinkData(words, false), mode: 'code', replacesOther: true, wrongEmail: true }),
    ],
    ...(['used', 'ended', 'expired', 'invalid'] as const).map((refusal): Named => [
      `sign-in-link-${refusal}`,
      refusedSignInLinkPage(refusal),
    ]),
    ['home', homePage({ baseUrl: 'https://svc.example.com', commandUrl: null })],
    [
      'home-with-command',
      homePage({
        baseUrl: 'https://agents.engineering.example.com',
        commandUrl: 'https://agents.engineering.example.com/assets/svc-cli.tgz',
      }),
    ],
    ...[400, 401, 403, 404, 429, 500, 503].map((status): Named => [
      `error-${status}`,
      errorPage({ status, requestId: words.requestId, retryAfterSeconds: status === 429 ? 240 : undefined }),
    ]),
  ]
}

function scriptedPages(words: Words): Named[] {
  return [
    ['waiting', waitingPage({ decide: null })],
    ['waiting-signed-in', waitingPage({ decide: { ...confirmData(words), mode: 'click' } })],
    ['sign-in', signInPage({ userCode: null, hasEmail: true })],
    ['sign-in-without-email', signInPage({ userCode: null, hasEmail: false })],
    ['team-signed-out', teamSignInPage({ path: '/teams/acme/core', hasEmail: true, isForm: true })],
    ['device-signed-out', deviceSignInPage({ userCode: null, hasEmail: true, isForm: false })],
    ['device-signed-out-code', deviceSignInPage({ userCode: words.userCode, hasEmail: true, isForm: false })],
    ['session', SESSION_SHELL],
    ['device', devicePage(deviceData(words))],
    [
      'device-empty',
      devicePage({ ...deviceData(words), devices: [], passkeys: [], keys: [], userCode: words.userCode }),
    ],
    ['device-new-key', devicePage({ ...deviceData(words), madeKey: madeKey(words) })],
    ['device-found', devicePage({ ...deviceData(words), found: pendingLogin(words, true) })],
    ['device-not-fresh', devicePage({ ...deviceData(words), fresh: false, notice: 'reauthenticate' })],
    ['device-notice', devicePage({ ...deviceData(words), notice: 'approved' })],
    ['device-refused', devicePage({ ...deviceData(words), notice: 'unknown_code', userCode: words.userCode })],
  ]
}

function pendingLogin(words: Words, sameIp: boolean) {
  return {
    deviceName: words.deviceName,
    userCode: words.userCode,
    startIp: words.ip,
    startedAt: new Date('2026-11-21T09:00:12Z'),
    expiresAt: new Date('2026-11-21T09:10:12Z'),
    sameIp,
  }
}

function shownKey(words: Words): ListedKey {
  return {
    id: 'k1',
    name: words.passkeyName,
    prefix: 'svck_7Fq2',
    team: words.team,
    models: null,
    createdAt: new Date('2026-10-02T16:40:00Z'),
    expiresAt: new Date('2026-12-31T16:40:00Z'),
    lastUsedAt: new Date('2026-11-21T08:59:00Z'),
    replacedBy: null,
  }
}

function madeKey(words: Words) {
  return { key: new Secret('svck_7Fq2LCVzYzCNiM_BC7CT_dxt1IPH4N-loV3lJL41fgAycBLCg'), info: shownKey(words) }
}

function confirmData(words: Words, sameIp = true) {
  return { token: TOKEN, email: words.email, team: words.team, login: pendingLogin(words, sameIp) }
}

function signInLinkData(words: Words, sameIp = true) {
  const { startedAt: requestedAt, expiresAt, startIp: requestIp } = pendingLogin(words, sameIp)
  return { token: TOKEN, email: words.email, team: words.team, requestIp, requestedAt, expiresAt, sameIp }
}

function deviceData(words: Words): DevicePage {
  const times = {
    firstSeenAt: new Date('2026-10-02T16:40:00Z'),
    lastSeenAt: new Date('2026-11-21T08:59:00Z'),
    lastIp: words.ip,
  }
  return {
    user: { email: words.email, team: words.team, role: 'member' },
    notice: null,
    userCode: null,
    found: null,
    fresh: true,
    next: null,
    formId: 'f1',
    hasEmail: true,
    devices: [
      {
        ...times,
        kind: 'browser',
        sessionId: 's1',
        deviceName: words.deviceName,
        approvedVia: 'mail',
        approverName: null,
        current: true,
      },
      {
        ...times,
        kind: 'device',
        sessionId: 's2',
        deviceName: words.otherDeviceName,
        approvedVia: 'user_code',
        approverName: words.deviceName,
        current: false,
      },
      {
        ...times,
        kind: 'device',
        sessionId: 's3',
        deviceName: 'Phone',
        approvedVia: 'passkey',
        approverName: null,
        current: false,
      },
    ],
    passkeys: [
      {
        id: 'p1',
        name: words.passkeyName,
        createdAt: times.firstSeenAt,
        lastUsedAt: times.lastSeenAt,
        synced: true,
      },
      { id: 'p2', name: 'Security key', createdAt: times.firstSeenAt, lastUsedAt: null, synced: false },
    ],
    keys: [
      shownKey(words),
      { ...shownKey(words), id: 'k2', models: ['svc/fast', words.team], lastUsedAt: null, replacedBy: 'k1' },
    ],
    models: ['svc/fast', words.team],
    madeKey: null,
    keyDraft: null,
    accepted: { rpId: 'localhost', userId: 'dXNlcg', credentialIds: ['Y3JlZA'] },
  }
}
