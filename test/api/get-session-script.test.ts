import { describeAsset } from '../support/pages/assets.ts'

describeAsset('getSessionScript', '/assets/session.js', /^text\/javascript/, /data-part/)
