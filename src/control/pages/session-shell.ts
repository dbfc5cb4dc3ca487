import { html } from '../../http/page.ts'
import { page } from './document.ts'
import { PATHS } from './forms.ts'
import { passkeyButton } from './passkey-parts.ts'

/**
 * `/session`: the same page for every caller. Its script (assets/session.js) reads the session's id from the fragment
 * of the address, which browsers do not send, and shows one of the parts. Without an id it lists the team's sessions.
 */
export const SESSION_SHELL = page(
  { title: 'Session', layout: 'wide', script: PATHS.sessionScript },
  html`<div class="title">
      <h1 data-field="title">Sessions</h1>
      <p class="who"><small class="name" data-field="who"></small></p>
    </div>
    <p class="about" role="status" data-field="status"></p>
    <noscript><p class="about">This page needs JavaScript: it shows what happens while it happens.</p></noscript>

    <section class="part" data-part="sign-in" hidden>
      <p class="about">
        Sign in as a member of the team. With a passkey you stay on this page. Without one,
        <a href="${PATHS.signIn}">sign in another way</a> and open this address again.
      </p>
      ${passkeyButton({ then: null })}
    </section>

    <section class="part" data-part="list" aria-labelledby="recent" hidden>
      <h2 id="recent">Recent sessions</h2>
      <ul class="rows" data-field="sessions"></ul>
      <p class="empty" data-field="no-sessions" hidden>
        There is none yet. A session begins with the first model call that has the header
        <code>X-Svc-Session-Id</code>, or the header that coding agents send by themselves.
      </p>
    </section>

    <section class="part" data-part="session" aria-labelledby="sums" hidden>
      <h2 id="sums">All calls</h2>
      <div class="facts">
        <dl>
          <div>
            <dt>State</dt>
            <dd data-field="state"></dd>
          </div>
          <div>
            <dt>Calls</dt>
            <dd data-field="calls"></dd>
          </div>
          <div>
            <dt>Tokens</dt>
            <dd data-field="tokens"></dd>
          </div>
        </dl>
      </div>
    </section>
    <section class="part" data-part="session" aria-labelledby="calls" hidden>
      <h2 id="calls">Newest first</h2>
      <ol class="rows" data-field="timeline"></ol>
      <p class="empty" data-field="no-calls">No call yet. New ones appear here by themselves.</p>
    </section>
    <p data-part="session" hidden><a href="#" data-field="back">All sessions of the team</a></p>

    <template data-template="session">
      <li class="row plain">
        <p class="row-name"><a class="name" data-field="link"></a> <span class="badge" data-field="state"></span></p>
        <p class="row-facts">
          <span class="name" data-field="facts"></span>
          <span data-field="tokens"></span>
        </p>
      </li>
    </template>
    <template data-template="call">
      <li class="row plain">
        <p class="row-name">
          <span class="name" data-field="model"></span> <span class="badge" data-field="state"></span>
        </p>
        <p class="row-facts">
          <span class="name" data-field="facts"></span>
          <span data-field="tokens"></span>
        </p>
      </li>
    </template>`,
)
