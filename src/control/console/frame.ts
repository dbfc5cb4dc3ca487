import { html } from '../../http/page.ts'
import type { Html, Interpolation } from '../../http/page.ts'
import { page } from '../pages/document.ts'
import { PATHS } from '../pages/forms.ts'
import type { Viewer } from './viewer.ts'

export type PageName =
  'overview' | 'usage' | 'limits' | 'sessions' | 'models' | 'members' | 'devices' | 'keys' | 'audit'

type Item = { readonly name: PageName; readonly label: string; readonly path: string; readonly forAdmins: boolean }

/** The pages of a team, in the order of the navigation. */
const PAGES: readonly Item[] = [
  { name: 'overview', label: 'Overview', path: '', forAdmins: false },
  { name: 'usage', label: 'Usage', path: '/usage', forAdmins: false },
  { name: 'limits', label: 'Limits', path: '/limits', forAdmins: false },
  { name: 'sessions', label: 'Sessions', path: '/sessions', forAdmins: false },
  { name: 'models', label: 'Models', path: '/models', forAdmins: false },
  { name: 'members', label: 'Members', path: '/members', forAdmins: true },
  { name: 'devices', label: 'Devices', path: '/devices', forAdmins: true },
  { name: 'keys', label: 'Keys', path: '/keys', forAdmins: true },
  { name: 'audit', label: 'Audit', path: '/audit', forAdmins: true },
]

/** What the frame of a page shows of its viewer. */
export type FramedViewer = Pick<Viewer, 'email' | 'team' | 'role' | 'path' | 'others'>

/** A page of a team: the navigation, the title, and the content. */
export function teamPage(viewer: FramedViewer, name: PageName, content: Interpolation): Html {
  const label = PAGES.find((item) => item.name === name)?.label ?? ''
  return page(
    { title: label, layout: 'team', nav: navigation(viewer, name) },
    html`<div class="title">
        <h1>${label}</h1>
        <p class="who"><span class="name">${viewer.team}</span> <small>${viewer.email} · ${viewer.role}</small></p>
      </div>
      ${content}`,
  )
}

function navigation({ path, role, others }: FramedViewer, current: PageName): Html {
  const shown = PAGES.filter(({ forAdmins }) => !forAdmins || role === 'admin')
  return html`<nav class="tabs" aria-label="Pages of the team">
    <ul>
      ${shown.map(({ name, label, path: end }) => item(`${path}${end}`, label, name === current))}
      ${others.map((other) => html`<li class="apart"><a href="${other.path}" class="name">${other.team}</a></li>`)}
      <li class="apart"><a href="${PATHS.device}">Your devices and keys</a></li>
    </ul>
  </nav>`
}

function item(href: string, label: string, isCurrent: boolean): Html {
  return isCurrent
    ? html`<li><a href="${href}" aria-current="page">${label}</a></li>`
    : html`<li><a href="${href}">${label}</a></li>`
}
