import type { Request, Response } from 'express'
import { hasCurrentCopy } from '../../http/etag.ts'
import { ApiError } from '../../http/errors.ts'
import type { Handlers } from '../../http/operation.ts'
import { sendPage } from '../../http/page.ts'
import { asExpress, wantsPage } from '../../http/request.ts'
import { readAssets } from './assets.ts'
import type { Asset } from './assets.ts'
import type { CommandPackage } from './command-package.ts'
import { PATHS } from './forms.ts'
import { homePage } from './home-page.ts'
import { SESSION_SHELL } from './session-shell.ts'

type Operations =
  | 'getFavicon'
  | 'getRootFavicon'
  | 'showHome'
  | 'getStylesheet'
  | 'getPasskeyScript'
  | 'getSessionScript'
  | 'getWebauthnLibrary'
  | 'getCommandPackage'
  | 'showSessionShell'

/**
 * Short, because a new version of an asset has the same URL. After this time browsers revalidate their copy by its
 * ETag.
 */
const MAX_AGE_SECONDS = 300

type Needs = {
  readonly baseUrl: string
  readonly gatewayUrl: string
  /** Null: the deployment does not offer the command. */
  readonly command: CommandPackage | null
}

/** The pages that are the same for everybody, and the files that pages load. */
export function makePageHandlers({ baseUrl, gatewayUrl, command }: Needs): Handlers<Operations> {
  const assets = readAssets()
  const asset = (file: Asset) => async (req: unknown, res: unknown) => sendAsset(...asExpress(req, res), file)
  return {
    getStylesheet: asset(assets.stylesheet),
    getPasskeyScript: asset(assets.passkeyScript),
    getSessionScript: asset(assets.sessionScript),
    getWebauthnLibrary: asset(assets.webauthnLibrary),
    getFavicon: asset(assets.favicon),
    getRootFavicon: asset(assets.favicon),

    async getCommandPackage(req, res) {
      if (!command) throw new ApiError('not_found', { message: NO_COMMAND })
      sendAsset(...asExpress(req, res), command.asset)
    },

    async showHome(req, res) {
      if (wantsPage(req)) return sendPage(res, 200, homePage({ baseUrl, commandUrl: command?.url ?? null }))
      res.status(200).json({
        service: 'svc',
        signIn: `${baseUrl}${PATHS.signIn}`,
        deviceStart: `${baseUrl}/v1/auth/device/start`,
        gateway: gatewayUrl,
        ...(command && { command: command.url }),
        docs: `${baseUrl}${PATHS.docs}`,
        contract: `${baseUrl}/openapi.json`,
      })
    },

    async showSessionShell(_req, res) {
      sendPage(res, 200, SESSION_SHELL)
    },
  }
}

const NO_COMMAND = 'This deployment does not offer the command for download. Ask an admin of your team for its file.'

function sendAsset(req: Request, res: Response, { type, bytes, etag }: Asset): void {
  res.set({
    ETag: etag,
    'Cache-Control': `public, max-age=${MAX_AGE_SECONDS}`,
    'X-Content-Type-Options': 'nosniff',
    'Cross-Origin-Resource-Policy': 'same-origin',
  })
  if (hasCurrentCopy(req, etag)) return void res.status(304).end()
  res.status(200).set('Content-Type', type).end(bytes)
}
