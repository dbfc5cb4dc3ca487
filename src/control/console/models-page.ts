import type { components } from '../../../generated/openapi.ts'
import { html, type Html, type Interpolation } from '../../http/page.ts'
import { toCount } from './format.ts'
import { teamPage } from './frame.ts'
import type { FramedViewer } from './frame.ts'
import { table } from './table.ts'
import type { Column } from './table.ts'

type TeamModel = components['schemas']['TeamModel']

export type ModelsPage = {
  readonly models: readonly TeamModel[]
  readonly defaultModel: string | null
}

/** The models that a team may call: those of the directory file, and those that its admins have added. */
export function modelsPage(viewer: FramedViewer, { models, defaultModel }: ModelsPage): Html {
  return teamPage(
    viewer,
    'models',
    html`<section class="part" aria-labelledby="models">
      <h2 id="models">Models of the team <span class="count">${models.length}</span></h2>
      ${
        models.length === 0
          ? html`<p class="empty">
              None yet. The directory file of this deployment says which models a team may call.
            </p>`
          : table('Models', columnsFor(defaultModel), models)
      }
    </section>`,
  )
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
    ${!usable && html`<span class="badge bad">Cannot be called</span>`} <small class="name under">${id}</small>`
}

const NOTHING = html`<span class="soft">–</span>`

function listOf(names: readonly string[]): Interpolation {
  return names.length > 0 ? html`<span class="name">${names.join(', ')}</span>` : NOTHING
}
