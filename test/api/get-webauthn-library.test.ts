import { describeAsset } from '../support/assets.ts'

describeAsset('getWebauthnLibrary', '/assets/simplewebauthn-browser.js', /^text\/javascript/, /SimpleWebAuthnBrowser/)
