import { describeAsset } from '../support/assets.ts'

describeAsset('getPasskeyScript', '/assets/passkeys.js', /^text\/javascript/, /simplewebauthn-browser/)
