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
    'The live view of an agent’s run, for members of its team, will be here. It is not available yet, so there is nothing to do on this page.',
    html`What follows <code>#</code> in the address names the session. It never leaves your browser.`,
  ]),
)
