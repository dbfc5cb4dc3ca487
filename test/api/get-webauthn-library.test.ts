import { describeAsset } from '../support/pages/assets.ts'

describeAsset('getWebauthnLibrary', '/assets/simplewebauthn-browser.js', /^text\/javascript/, /SimpleWebAuthnBrowser/)
