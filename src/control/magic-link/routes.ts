import type { ApprovalMode } from '../../config/values.ts'
import type { Database } from '../../database/client.ts'
import type { Handlers } from '../../http/operation.ts'
import { sendPage } from '../../http/page.ts'
import { asExpress, ipOf, wantsPage } from '../../http/request.ts'
import type { Clock } from '../../kernel/clock.ts'
import { hashSecret, Secret } from '../../kernel/secret.ts'
import type { Logger } from '../../log.ts'
import { setSessionCookie } from '../browser-session/begin.ts'
import type { OnUnknownCredential } from '../edge/unknown-credentials.ts'
import { approvedPage, deniedPage } from '../pages/answer-pages.ts'
import { makeConsumeLink } from './consume.ts'
import { refuseLink } from './refuse.ts'
import { judgeLink } from './rules.ts'
import { toLinkPage } from './show.ts'
import { makeMagicLinkStore } from './store.ts'

type Needs = {
  readonly database: Database
  readonly approvalMode: ApprovalMode
  readonly onUnknownCredential: OnUnknownCredential
  readonly clock: Clock
  readonly log: Logger
}

type Operations = 'showMagicLink' | 'consumeMagicLink'

/** The links of a login: the page that asks, and the POST that decides. */
export function makeMagicLinkHandlers(needs: Needs): Handlers<Operations> {
  const { database, approvalMode, onUnknownCredential, clock, log } = needs
  const links = makeMagicLinkStore(database)
  const consumeLink = makeConsumeLink({ links, approvalMode, onUnknownCredential, clock, log })
  return {
    async showMagicLink(request, response) {
      const [req, res] = asExpress(request, response)
      const token = new Secret(request.query.token)
      const login = await links.findByLink(hashSecret(token))
      if (!login) {
        onUnknownCredential(ipOf(req))
        return refuseLink(req, res, { refusal: 'invalid', login }, clock.now())
      }
      const verdict = judgeLink(login, clock.now())
      if (verdict !== 'open') return refuseLink(req, res, { refusal: verdict, login }, clock.now())
      sendPage(res, 200, toLinkPage(req, login, token, { approvalMode }))
    },

    async consumeMagicLink(request, response) {
      const [req, res] = asExpress(request, response)
      const consumed = await consumeLink(req, request.body)
      if (consumed.outcome === 'refused') return refuseLink(req, res, consumed, clock.now())
      if (consumed.outcome === 'wrong_code') {
        const wrongCode = true
        const page = toLinkPage(req, consumed.login, new Secret(request.body.token), { approvalMode, wrongCode })
        return sendPage(res, 400, page)
      }

      const approved = consumed.outcome === 'approved'
      const { accountId, deviceId, deviceName, email, team } = consumed.login
      if (approved && consumed.cookie) setSessionCookie(req, res, accountId, consumed.cookie)
      if (wantsPage(req))
        return sendPage(res, 200, approved ? approvedPage({ deviceName }) : deniedPage({ deviceName }))
      response.status(200).json({ approved, user: { email, team }, device: { deviceId, deviceName } })
    },
  }
}
