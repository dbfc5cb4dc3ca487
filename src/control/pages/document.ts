import { html, withScripts } from '../../http/page.ts'
import type { Html, Interpolation } from '../../http/page.ts'
import { PATHS } from './forms.ts'

type Frame = {
  /** The title of the browser's tab. Never a caller's text. */
  readonly title: string
  /** `card`: one question or answer. `wide`: several parts. `team`: tables, below a navigation. */
  readonly layout?: 'card' | 'wide' | 'team'
  /** The navigation between brand and content. */
  readonly nav?: Html
  /** The path of the script that the page loads; undefined: none. */
  readonly script?: string
}

/** A whole page around its content: head, brand, main. */
export function page({ title, layout = 'card', nav, script }: Frame, content: Interpolation): Html {
  const whole = html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <meta name="robots" content="noindex" />
        <meta name="format-detection" content="telephone=no, date=no, address=no, email=no, url=no" />
        <title>${title} · svc</title>
        <link rel="icon" href="${PATHS.favicon}" type="image/svg+xml" />
        <link rel="stylesheet" href="${PATHS.stylesheet}" />
        ${script && html`<script type="module" src="${script}"></script>`}
      </head>
      <body>
        <header class="top over-${layout}"><a class="brand" href="${PATHS.home}">${BRAND}</a></header>
        ${nav}
        <main class="${layout}">${content}</main>
      </body>
    </html> `
  return script ? withScripts(whole) : whole
}

const BRAND = html`<svg width="24" height="24" viewBox="0 0 24 24" fill="none" aria-hidden="true">
    <rect class="brand-tile" width="24" height="24" rx="6.5" />
    <path
      class="brand-line"
      d="M16 7.75h-5.6a2.15 2.15 0 0 0 0 4.25h3.2a2.15 2.15 0 0 1 0 4.25H8"
      stroke-width="2.1"
      stroke-linecap="round"
    />
  </svg>
  <span>svc</span>`
