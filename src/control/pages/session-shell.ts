import { page } from './document.ts'
import { answer } from './parts.ts'
import { html } from '../../http/page.ts'

/**
 * `/session`: the same page for everybody. Which session is meant stands in the address's fragment, which browsers keep to
 * themselves, so nothing is shared by opening it.
 */
export const SESSION_SHELL = page(
  { title: 'Session' },
  answer('plain', 'stream', 'Session', [
    'A run of an agent will be shown here live, to members of its team. The live view arrives with the session stream; there is none yet.',
    html`The part of the address after <code>#</code> names the session. It stays in your browser.`,
  ]),
)
