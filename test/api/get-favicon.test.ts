import { describeAsset } from '../support/pages/assets.ts'

describeAsset('getFavicon', '/assets/favicon.svg', /^image\/svg\+xml/, /<svg/)
