import { html } from '../../http/page.ts'
import type { Html } from '../../http/page.ts'
import { page } from './document.ts'
import { PATHS } from './forms.ts'
import { ICONS } from './icons.ts'

type HomeData = {
  readonly baseUrl: string
  /** Where people download the command; null: the deployment does not offer it. */
  readonly commandUrl: string | null
}

/** `/`: what this deployment is, how to sign in and how to start a coding agent. The same for every visitor. */
export function homePage({ baseUrl, commandUrl }: HomeData): Html {
  return page(
    { title: 'Home' },
    html`<h1>One login for your coding agents</h1>
      <p class="lead">This is a deployment of svc. It gives the agents and SDKs of a team one login and one address.</p>
      <p class="more">
        <a class="button primary" href="${PATHS.signIn}">${ICONS.key} Sign in</a>
        <a class="button" href="${PATHS.device}">${ICONS.device} Your devices and keys</a>
        <a class="button" href="${PATHS.team}">${ICONS.stream} Your team</a>
      </p>
      <section class="aside">
        <h2>On your computer</h2>
        <p>
          Install the command <code>svc</code>.${commandUrl ? '' : ' Ask an admin of your team for its file.'} It needs
          Node.js 20.12 or newer. Then sign in once, and start your agent: <code>codex</code>, <code>claude</code> or
          <code>opencode</code>.
        </p>
        <ul class="commands">
          <li><code>npm install -g ${commandUrl ?? 'FILE'}</code></li>
          <li><code>svc login ${baseUrl}</code></li>
          <li><code>svc run codex</code></li>
        </ul>
        <p>
          You can <a href="${PATHS.session}">watch its session</a> while it works. For programs, see the
          <a href="${PATHS.docs}">API reference</a>.
        </p>
      </section>`,
  )
}
