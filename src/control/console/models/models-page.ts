import type { TeamBackendList, TeamModel } from '../../../../generated/openapi.ts'
import { html } from '../../../http/page.ts'
import type { Html, Interpolation } from '../../../http/page.ts'
import { toCount } from '../../../kernel/formats/number-format.ts'
import { actionButton } from '../../pages/buttons.ts'
import { choiceField } from '../../pages/choice-field.ts'
import { countOf } from '../../pages/parts.ts'
import { teamPage } from '../frame.ts'
import type { FramedViewer } from '../frame.ts'
import { noticeOf } from '../notices.ts'
import { table } from '../table.ts'
import type { Column } from '../table.ts'
import { backendsPart } from './backend-parts.ts'
import { ownModelsPart } from './model-parts.ts'
import type { ModelsOutcome } from './models-outcome.ts'

export type ModelsPage = ModelsOutcome & {
  readonly models: readonly TeamModel[]
  readonly defaultModel: string | null
  /** Null: the team has no default model. */
  readonly defaultModelSource: 'file' | 'admin' | null
  /** What admins see besides, and whether their sign-in is fresh, which backends need. Null for a member. */
  readonly admin: (TeamBackendList & { readonly fresh: boolean }) | null
}

/** The models that a team may call: those of the directory file, and those that its admins have added. */
export function modelsPage(viewer: FramedViewer, data: ModelsPage): Html {
  const { models, defaultModel, admin, notice, detail, draft, mistakes } = data
  const path = `${viewer.path}/models`
  const forms = { path, draft, mistakes, team: viewer.team }
  return teamPage(
    viewer,
    'models',
    html`${noticeOf(notice, detail)} ${admin && defaultPart(data, path)}
      <section class="part" aria-labelledby="models">
        <h2 id="models">Models of the team ${countOf(models)}</h2>
        ${
          models.length === 0
            ? html`<p class="empty">
                None yet. The directory file of this deployment says which models a team may call.
              </p>`
            : table('Models', columnsFor(defaultModel), models)
        }
      </section>
      ${admin && ownModelsPart(models, backendChoices(models, admin.backends), forms)}
      ${admin && backendsPart(admin, forms)}`,
  )
}

/** The names of the backends that a model of an admin may name. */
function backendChoices(models: readonly TeamModel[], backends: TeamBackendList['backends']): readonly string[] {
  const ofFile = models.filter(({ source }) => source === 'file').flatMap(({ serve }) => serve)
  const own = backends.filter(({ source }) => source === 'admin').map(({ name }) => name)
  return [...new Set([...own, ...ofFile.map(({ backend }) => backend)])]
}

/** The choice of the default model, unless the directory file makes it. */
function defaultPart({ models, defaultModel, defaultModelSource }: ModelsPage, path: string): Interpolation {
  if (defaultModelSource === 'file' || models.length === 0) return null
  return html`<section class="part" aria-labelledby="default">
    <h2 id="default">Default model</h2>
    <form method="post" action="${path}" class="fields">
      ${choiceField({
        id: 'model',
        name: 'model',
        label: 'For programs that name no model',
        choices: [['', 'None'], ...models.map(({ id }) => [id, id] as const)],
        chosen: defaultModel ?? '',
      })}
      ${actionButton('set-default', 'Save')}
    </form>
  </section>`
}

function columnsFor(defaultModel: string | null): readonly Column<TeamModel>[] {
  return [
    { heading: 'Model', cell: (model) => nameOf(model, defaultModel) },
    { heading: 'Other names', cell: ({ aliases }) => listOf(aliases) },
    { heading: 'Served by', cell: ({ serve }) => listOf([...new Set(serve.map(({ backend }) => backend))]) },
    { heading: 'From', cell: ({ source }) => (source === 'file' ? 'Directory file' : 'An admin') },
    {
      heading: 'Context',
      isNumber: true,
      cell: ({ contextWindow }) => (contextWindow === null ? NOTHING : toCount(contextWindow)),
    },
  ]
}

function nameOf({ id, displayName, published, usable }: TeamModel, defaultModel: string | null): Interpolation {
  return html`<span class="name">${displayName}</span>
    ${id === defaultModel && html`<span class="badge">Default</span>`}
    ${!published && html`<span class="badge plain">Not published</span>`}
    ${!usable && html`<span class="badge bad">Cannot be called</span>`}
    ${id !== displayName && html`<small class="name under">${id}</small>`}`
}

const NOTHING = html`<span class="soft">–</span>`

function listOf(names: readonly string[]): Interpolation {
  return names.length > 0 ? html`<span class="name">${names.join(', ')}</span>` : NOTHING
}
