import { describeAsset } from '../support/pages/assets.ts'

describeAsset('getRootFavicon', '/favicon.ico', /^image\/svg\+xml/, /<svg/)
