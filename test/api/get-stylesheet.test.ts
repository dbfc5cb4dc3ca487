import { describeAsset } from '../support/pages/assets.ts'

describeAsset('getStylesheet', '/assets/auth.css', /^text\/css/, /color-scheme/)
