import { html, type Html, type Interpolation } from '../../http/page.ts'
import { toCount } from './format.ts'
import { teamPage } from './frame.ts'
import type { FramedViewer } from './frame.ts'
import type { TeamModelRow } from './store.ts'
import { table } from './table.ts'
import type { Column } from './table.ts'

export type ModelsPage = { readonly models: readonly TeamModelRow[]; readonly defaultModel: string | null }

/** The models that a team may call. */
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

function columnsFor(defaultModel: string | null): readonly Column<TeamModelRow>[] {
  return [
    { heading: 'Model', cell: (model) => nameOf(model, defaultModel) },
    { heading: 'Other names', cell: ({ aliases }) => listOf(aliases) },
    { heading: 'Owner', cell: ({ owner }) => html`<span class="name">${owner}</span>` },
    {
      heading: 'Served by',
      cell: ({ backends }) => (backends.length > 0 ? listOf(backends) : html`<span class="soft">its route</span>`),
    },
    {
      heading: 'Context',
      isNumber: true,
      cell: ({ contextWindow }) => (contextWindow === null ? NOTHING : toCount(contextWindow)),
    },
  ]
}

function nameOf({ id, displayName, published }: TeamModelRow, defaultModel: string | null): Interpolation {
  return html`<span class="name">${displayName}</span>
    ${id === defaultModel && html`<span class="badge">Default</span>`}
    ${!published && html`<span class="badge plain">Not published</span>`} <small class="name under">${id}</small>`
}

const NOTHING = html`<span class="soft">–</span>`

function listOf(names: readonly string[]): Interpolation {
  return names.length > 0 ? html`<span class="name">${names.join(', ')}</span>` : NOTHING
}
