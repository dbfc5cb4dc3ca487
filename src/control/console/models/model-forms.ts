import type { TeamModelsForm } from '../../../../generated/openapi.ts'
import { refuseOutdated, versionOfModel } from '../../../directory/version.ts'
import type { Clock } from '../../../kernel/clock.ts'
import { prefixOfTeam } from '../../../kernel/team-name.ts'
import type { DirectoryRefusal } from '../../directory-change.ts'
import { isFresh } from '../../fresh.ts'
import { required } from '../../request-fields.ts'
import { toTeamBackends } from '../../team-backends/answers.ts'
import type { TeamBackends } from '../../team-backends/flow.ts'
import { toTeamModels } from '../../team-models/answers.ts'
import type { TeamModels } from '../../team-models/flow.ts'
import type { TeamNotice } from '../notices.ts'
import type { Viewer } from '../viewer.ts'
import { makeBackendForms } from './backend-forms.ts'
import { refuse } from './form-mistakes.ts'
import { toOutcome } from './models-outcome.ts'
import type { ModelsOutcome } from './models-outcome.ts'
import { modelsPage } from './models-page.ts'
import { readServeRows, toServe } from './serve-fields.ts'

type Needs = { readonly teamModels: TeamModels; readonly teamBackends: TeamBackends; readonly clock: Clock }

/** The models page, and its forms for admins. */
export type ModelForms = ReturnType<typeof makeModelForms>

/** Makes the models page and its forms. */
export function makeModelForms({ teamModels, teamBackends, clock }: Needs) {
  const { models, changes } = teamModels
  const { backends, trust } = teamBackends
  const changeBackend = makeBackendForms(teamBackends)

  async function save(admin: Viewer, form: TeamModelsForm): Promise<ModelsOutcome> {
    const given = required('model', form.model)
    const id = form.action === 'add-model' ? prefixOfTeam(admin.team) + given : given
    const existing = (await models.find(admin.teamId)).adminModels.find(({ model }) => model.id === id)?.model ?? null
    if (form.action === 'add-model' && existing) return refuse(form, 'model_taken', EXISTS)
    if (form.action === 'change-model' && !existing) return refuse(form, 'not_added')
    // Checked first: a page that reports another mistake has the current version, and the next save would pass.
    const outdated = refuseOutdated(form.version, existing && versionOfModel(existing))
    if (outdated) return refuse(form, 'model_taken', outdated.mistakes)
    const settings = {
      version: form.version,
      displayName: required('displayName', form.displayName),
      aliases: (form.aliases ?? '').split(/[\s,]+/).filter((alias) => alias !== ''),
      serve: toServe(readServeRows(form), existing?.serve ?? []),
      contextWindow: form.contextWindow ? Number(form.contextWindow) : null,
      caps: existing?.caps ?? {},
      published: existing?.published ?? true,
    }
    const refusal = await changes.put(admin, id, settings)
    if (!refusal) return toOutcome('model_saved')
    return refuse(form, SAVE_REFUSALS[refusal.kind], refusal.mistakes)
  }

  return {
    async render(viewer: Viewer, outcome: ModelsOutcome) {
      const { role, teamId } = viewer
      const found = await models.find(teamId)
      const ofTeam = role === 'admin' ? await backends.find(teamId, found.fileModels) : null
      return modelsPage(viewer, {
        ...toTeamModels(found),
        admin: ofTeam && { ...toTeamBackends(ofTeam, trust), fresh: isFresh(viewer, clock.now()) },
        ...outcome,
      })
    },

    async change(admin: Viewer, form: TeamModelsForm): Promise<ModelsOutcome> {
      switch (form.action) {
        case 'set-default': {
          const model = required('model', form.model)
          const refusal = await changes.setDefault(admin, model === '' ? null : model)
          return toOutcome(refusal ? DEFAULT_REFUSALS[refusal.kind] : 'default_set')
        }
        case 'delete': {
          const refusal = await changes.remove(admin, required('model', form.model))
          return toOutcome(refusal ? DELETE_REFUSALS[refusal.kind] : 'model_deleted')
        }
        case 'add-model':
        case 'change-model':
          return save(admin, form)
        default:
          return changeBackend(admin, form)
      }
    },
  }
}

const EXISTS = [{ path: ['id'], message: 'the team has a model with this id. Change that one.' }]

type Notices = Readonly<Record<DirectoryRefusal['kind'], TeamNotice>>

const SAVE_REFUSALS: Notices = {
  invalid: 'model_invalid',
  not_found: 'not_added',
  taken: 'model_taken',
  busy: 'directory_busy',
}

const DELETE_REFUSALS: Notices = {
  invalid: 'no_such_model',
  not_found: 'not_added',
  taken: 'model_kept',
  busy: 'directory_busy',
}

const DEFAULT_REFUSALS: Notices = { ...DELETE_REFUSALS, taken: 'default_of_file' }
