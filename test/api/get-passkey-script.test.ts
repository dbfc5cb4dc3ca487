import { describeAsset } from '../support/pages/assets.ts'

describeAsset('getPasskeyScript', '/assets/passkeys.js', /^text\/javascript/, /simplewebauthn-browser/)
