import type { Request, Response } from 'express'
import type { Handlers } from '../../http/operation.ts'
import { sendPage } from '../../http/page.ts'
import type { Asset, Assets } from './assets.ts'
import { SESSION_SHELL } from './session-shell.ts'
import { signInPage } from './sign-in-page.ts'

type Operations = 'getStylesheet' | 'getPasskeyScript' | 'getWebauthnLibrary' | 'showSignIn' | 'showSessionShell'

/** Short, because a new version has the same name; after it the browser asks whether its copy is good. */
const MAX_AGE_SECONDS = 300

export function pageRoutes({ assets }: { readonly assets: Assets }): Handlers<Operations> {
  // What these write is no JSON, so they need Express's own types.
  const asset = (file: Asset) => async (req: unknown, res: unknown) => sendAsset(req as Request, res as Response, file)
  return {
    getStylesheet: asset(assets.stylesheet),
    getPasskeyScript: asset(assets.passkeyScript),
    getWebauthnLibrary: asset(assets.webauthnLibrary),

    async showSignIn(_req, res) {
      sendPage(res as unknown as Response, 200, signInPage(), { scripts: true })
    },

    async showSessionShell(_req, res) {
      sendPage(res as unknown as Response, 200, SESSION_SHELL)
    },
  }
}

function sendAsset(req: Request, res: Response, { type, bytes, etag }: Asset): void {
  res.set({
    ETag: etag,
    'Cache-Control': `public, max-age=${MAX_AGE_SECONDS}`,
    'X-Content-Type-Options': 'nosniff',
    'Cross-Origin-Resource-Policy': 'same-origin',
  })
  if (hasCopy(req, etag)) return void res.status(304).end()
  res.status(200).set('Content-Type', type).end(bytes)
}

/** RFC 9110, section 13.1.2. */
function hasCopy(req: Request, etag: string): boolean {
  const sent = (req.get('if-none-match') ?? '').split(',').map((value) => value.trim().replace(/^W\//, ''))
  return sent.includes(etag) || sent.includes('*')
}
