import type { components } from '../../../generated/openapi.ts'
import type { Html } from '../../http/page.ts'
import type { Clock } from '../../kernel/clock.ts'
import type { DirectoryRefusal } from '../directory-change.ts'
import { toTeamModels } from '../team-models/answers.ts'
import type { TeamModelStore } from '../team-models/store.ts'
import { modelsPage } from './models-page.ts'
import type { TeamNotice } from './notices.ts'
import type { Viewer } from './viewer.ts'

/** The models page, and its forms for admins. */
export type ModelForms = {
  render(viewer: Viewer, notice: TeamNotice | null): Promise<Html>
  change(admin: Viewer, form: components['schemas']['TeamModelsForm'], ip: string): Promise<TeamNotice>
}

type Needs = { readonly models: TeamModelStore; readonly clock: Clock }

export function makeModelForms({ models, clock }: Needs): ModelForms {
  return {
    async render(viewer, notice) {
      return modelsPage(viewer, { ...toTeamModels(await models.find(viewer.teamId)), notice })
    },

    async change({ caller, teamId }, { action, model }, ip) {
      const actor = { accountId: caller.accountId, ip }
      if (action === 'delete') {
        const refusal = await models.remove(teamId, model, actor, clock.now())
        return refusal ? DELETE_REFUSALS[refusal.kind] : 'model_deleted'
      }
      const refusal = await models.setDefault(teamId, model === '' ? null : model, actor, clock.now())
      return refusal ? DEFAULT_REFUSALS[refusal.kind] : 'default_set'
    },
  }
}

type Notices = Readonly<Record<DirectoryRefusal['kind'], TeamNotice>>

const DELETE_REFUSALS: Notices = {
  invalid: 'no_such_model',
  not_found: 'not_added',
  taken: 'model_kept',
  busy: 'directory_busy',
}

const DEFAULT_REFUSALS: Notices = { ...DELETE_REFUSALS, taken: 'default_of_file' }
