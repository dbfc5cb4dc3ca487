import { page } from './document.ts'
import { answer } from './parts.ts'
import { html } from '../../http/page.ts'

/**
 * `/session`: the same page for every caller. The session's id is in the fragment of the address, which browsers do not
 * send, so the page reveals nothing.
 */
export const SESSION_SHELL = page(
  { title: 'Session' },
  answer('plain', 'stream', 'Session', [
    'The live view of an agent’s run, for members of its team, will be here. It is not available yet, ' +
      'so there is nothing to do on this page.',
    html`The text after <code>#</code> in the address is the session’s id. It never leaves your browser.`,
  ]),
)
