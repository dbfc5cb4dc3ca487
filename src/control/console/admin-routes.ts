import type { Handlers } from '../../http/operation.ts'
import { sendOutcomePage } from '../../http/page.ts'
import type { Html, PageReply } from '../../http/page.ts'
import { toKeyForm } from '../api-keys/key-form.ts'
import { readAuditCursor, toAuditEvent, writeAuditCursor } from '../audit/rules.ts'
import type { AuditStore } from '../audit/store.ts'
import { findPage, readCursor, readTimeCursor } from '../paging.ts'
import { auditPage } from './audit-page.ts'
import type { DeviceForms } from './devices/device-forms.ts'
import type { TeamKeyForms } from './keys/key-forms.ts'
import type { LimitForms } from './limits/limit-forms.ts'
import type { MemberForms } from './members/member-forms.ts'
import type { ModelForms } from './models/model-forms.ts'
import { NOTHING_SENT } from './form-outcome.ts'
import { noticeStatusOf } from './notices.ts'
import type { TeamNotice } from './notices.ts'
import type { FindViewer } from './viewer.ts'

type Needs = {
  /** Throws `forbidden` for members. */
  readonly findAdmin: FindViewer
  readonly members: MemberForms
  readonly models: ModelForms
  readonly limits: LimitForms
  readonly devices: DeviceForms
  readonly keys: TeamKeyForms
  readonly audit: AuditStore
}

type Operations =
  | 'showTeamMembers'
  | 'changeTeamMembers'
  | 'changeTeamModels'
  | 'changeTeamLimits'
  | 'showTeamDevices'
  | 'changeTeamDevices'
  | 'showTeamKeys'
  | 'changeTeamKeys'
  | 'showTeamAudit'

const EVENTS_OF_PAGE = 50

/** The pages of a team for its admins. */
export function makeAdminPageHandlers({
  findAdmin,
  members,
  models,
  limits,
  devices,
  keys,
  audit,
}: Needs): Handlers<Operations> {
  return {
    async showTeamMembers(req, res) {
      const admin = await findAdmin(req)
      send(res, await members.render(admin, { after: req.query.after ?? '', ...NOTHING_SENT }))
    },

    async changeTeamMembers(req, res) {
      const admin = await findAdmin(req)
      const outcome = await members.change(admin, req.body)
      send(res, await members.render(admin, { after: req.query.after ?? '', ...outcome }), outcome.notice)
    },

    async changeTeamModels(req, res) {
      const admin = await findAdmin(req)
      const outcome = await models.change(admin, req.body)
      send(res, await models.render(admin, outcome), outcome.notice)
    },

    async changeTeamLimits(req, res) {
      const admin = await findAdmin(req)
      const outcome = await limits.change(admin, req.body)
      send(res, await limits.render(admin, outcome), outcome.notice)
    },

    async showTeamDevices(req, res) {
      const admin = await findAdmin(req)
      const before = readCursor('before', req.query.before, readTimeCursor)
      send(res, await devices.render(admin, { before, notice: null }))
    },

    async changeTeamDevices(req, res) {
      const admin = await findAdmin(req)
      const before = readCursor('before', req.query.before, readTimeCursor)
      const notice = await devices.signOut(admin, req.body.sessionId)
      send(res, await devices.render(admin, { before, notice }), notice)
    },

    async showTeamKeys(req, res) {
      const admin = await findAdmin(req)
      send(res, await keys.render(admin, { ...NOTHING_SENT, madeKey: null }))
    },

    async changeTeamKeys(req, res) {
      const admin = await findAdmin(req)
      const outcome = await keys.change(admin, req.body, toKeyForm(req, req.body.formId))
      send(res, await keys.render(admin, outcome), outcome.notice)
    },

    async showTeamAudit(req, res) {
      const admin = await findAdmin(req)
      const before = readCursor('before', req.query.before, readAuditCursor)
      const query = { actor: null, action: null, from: null, to: null, before }
      const { shown, last } = await findPage(EVENTS_OF_PAGE, (limit) => audit.find(admin.teamId, { ...query, limit }))
      const [events, next] = [shown.map(toAuditEvent), last && writeAuditCursor(last)]
      send(res, auditPage(admin, { events, isFirst: before === null, next }))
    },
  }
}

function send(res: PageReply, page: Html, notice: TeamNotice | null = null): void {
  sendOutcomePage(res, noticeStatusOf(notice), page)
}
