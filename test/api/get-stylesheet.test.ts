import { describeAsset } from '../support/assets.ts'

describeAsset('getStylesheet', '/assets/auth.css', /^text\/css/, /color-scheme/)
