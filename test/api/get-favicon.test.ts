import { describeAsset } from '../support/assets.ts'

describeAsset('getFavicon', '/assets/favicon.svg', /^image\/svg\+xml/, /<svg/)
