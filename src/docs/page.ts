import { html } from '../http/page.ts'
import type { Html } from '../http/page.ts'
import type { Document, DocumentValues, SecurityScheme } from './document.ts'
import { gettingStarted } from './getting-started.ts'
import { linkTo, methodMark, operationArticle } from './operations.ts'
import type { ListedOperation } from './operations.ts'
import { inline, prose } from './text.ts'

type Tag = { readonly name: string; readonly description?: string; readonly operations: readonly ListedOperation[] }

/**
 * Renders the contract as one page, for a deployment with these addresses. The page loads only its stylesheet and runs
 * no script.
 */
export function docsPage(document: Document, addresses: Pick<DocumentValues, 'baseUrl' | 'gatewayUrl'>): Html {
  const tags = tagsOf(document)
  const { title, version } = document.info
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <title>API reference · ${title}</title>
        <link rel="stylesheet" href="/docs/docs.css" />
      </head>
      <body id="top">
        <header class="bar">
          <a class="brand" href="#top">${title} <small>${version}</small></a>
          <a class="to-index" href="#index">Index</a>
          <a href="/openapi.json">openapi.json</a>
        </header>
        ${index(tags)}
        <main>
          ${introduction(document)} ${gettingStarted(addresses)} ${credentials(document)}
          ${tags.map((tag) => section(tag, document))}
        </main>
      </body>
    </html>`
}

/** The operations of each tag, in the order of the document. */
function tagsOf({ paths, tags = [] }: Document): readonly Tag[] {
  const placed = Object.entries(paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => ({ method, path, operation })),
  )
  return tags.map((tag) => ({
    ...tag,
    operations: placed.filter(({ operation }) => operation.tags.includes(tag.name)),
  }))
}

/** The list of all operations beside the text. On a narrow screen the stylesheet shows only the groups. */
function index(tags: readonly Tag[]): Html {
  return html`<nav id="index" aria-label="Operations">
    <ul>
      <li><a href="#getting-started">Getting started</a></li>
      <li><a href="#credentials">Credentials</a></li>
      ${tags.map(
        ({ name, operations }) =>
          html`<li>
            <a href="#${anchor(name)}">${name}</a>
            <ul>
              ${operations.map(({ operation }) => html`<li>${linkTo(operation)}</li>`)}
            </ul>
          </li>`,
      )}
    </ul>
  </nav>`
}

function introduction({ info, servers }: Document): Html {
  return html`<h1>API reference <small>${info.title} ${info.version}</small></h1>
    ${prose(info.description ?? '')}
    <p>This page shows the contract of <a href="/openapi.json">openapi.json</a>, an OpenAPI 3.1 document.</p>
    <dl class="facts">
      ${servers.map(
        ({ url, description }) =>
          html`<div>
            <dt>${description}</dt>
            <dd><code>${url}</code></dd>
          </div>`,
      )}
    </dl>`
}

function credentials({ components }: Document): Html {
  return html`<section>
    <h2 id="credentials">Credentials</h2>
    <dl class="facts">
      ${Object.entries(components.securitySchemes).map(
        ([name, scheme]) =>
          html`<div>
            <dt>${name}</dt>
            <dd>
              <code>${placeOf(scheme)}</code>
              <p>${inline(scheme.description ?? '')}</p>
            </dd>
          </div>`,
      )}
    </dl>
  </section>`
}

/** Where a credential is sent: `Authorization: Bearer`, `x-api-key`, `Cookie: svc_session`. */
function placeOf({ scheme, in: place, name }: SecurityScheme): string {
  if (scheme !== undefined) return `Authorization: ${scheme}`
  return place === 'cookie' ? `Cookie: ${name}` : (name ?? '')
}

function section({ name, description = '', operations }: Tag, document: Document): Html {
  return html`<section>
    <h2 id="${anchor(name)}">${name}</h2>
    ${prose(description)}
    <ul class="overview">
      ${operations.map(
        ({ method, path, operation }) =>
          html`<li>
            ${linkTo(operation)} <span class="route">${methodMark(method)} <code>${path}</code></span>
          </li>`,
      )}
    </ul>
    ${operations.map((placed) => operationArticle(placed, document))}
  </section>`
}

function anchor(name: string): string {
  return `tag-${name.toLowerCase().replaceAll(' ', '-')}`
}
