import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import path from 'node:path'
import { makeEtag } from '../../http/etag.ts'

/** A file that pages load, with the headers that it is sent with. */
export type Asset = { readonly type: string; readonly bytes: Buffer; readonly etag: string }

export type Assets = {
  readonly stylesheet: Asset
  readonly passkeyScript: Asset
  readonly sessionScript: Asset
  readonly webauthnLibrary: Asset
  readonly favicon: Asset
}

/** Reads the files once. Throws when one is missing, so that the start fails instead of a page. */
export function readAssets(): Assets {
  return {
    stylesheet: readAsset(new URL('assets/auth.css', import.meta.url), 'text/css; charset=utf-8'),
    passkeyScript: readAsset(new URL('assets/passkeys.js', import.meta.url), 'text/javascript; charset=utf-8'),
    sessionScript: readAsset(new URL('assets/session.js', import.meta.url), 'text/javascript; charset=utf-8'),
    webauthnLibrary: readAsset(libraryFile(), 'text/javascript; charset=utf-8'),
    favicon: readAsset(new URL('assets/favicon.svg', import.meta.url), 'image/svg+xml'),
  }
}

/** The package's bundle for script tags. The main entry of the package is for bundlers. */
function libraryFile(): string {
  const entry = createRequire(import.meta.url).resolve('@simplewebauthn/browser')
  return path.join(path.dirname(entry), '../dist/bundle/index.umd.min.js')
}

/** Reads a file to be served. Throws what reading it throws. */
export function readAsset(file: string | URL, type: string): Asset {
  const bytes = readFileSync(file)
  return { type, bytes, etag: makeEtag(bytes) }
}
