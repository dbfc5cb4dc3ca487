import { describeAsset } from '../support/assets.ts'

describeAsset('getRootFavicon', '/favicon.ico', /^image\/svg\+xml/, /<svg/)
