import { describeAsset } from '../support/assets.ts'

describeAsset('getSessionScript', '/assets/session.js', /^text\/javascript/, /data-part/)
