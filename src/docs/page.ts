import { html } from '../http/page.ts'
import type { Html } from '../http/page.ts'
import type { Answer, Content, Document, Operation, Parameter, Schema } from './document.ts'

type Placed = { readonly method: string; readonly path: string; readonly operation: Operation }

/** How deep the fields of fields are shown. */
const DEPTH = 5

/** The contract as one page, to read, search and link to: nothing is loaded but its stylesheet, and no script runs. */
export function docsPage(document: Document): Html {
  const placed = Object.entries(document.paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => ({ method, path, operation })),
  )
  const tags = (document.tags ?? []).map((tag) => ({
    ...tag,
    operations: placed.filter(({ operation }) => operation.tags.includes(tag.name)),
  }))
  const { title, version, description = '' } = document.info
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>${title} ${version}</title>
        <link rel="stylesheet" href="/docs/docs.css" />
      </head>
      <body>
        <nav aria-label="Operations">
          ${tags.map(
            ({ name, operations }) =>
              html`<h2><a href="#${anchor(name)}">${name}</a></h2>
                <ul>
                  ${operations.map(
                    ({ operation }) =>
                      html`<li>
                        <a href="#${operation.operationId}">${operation.summary ?? operation.operationId}</a>
                      </li>`,
                  )}
                </ul>`,
          )}
        </nav>
        <main>
          <h1>${title} <small>${version}</small></h1>
          ${prose(description)}
          <p>The same as <a href="/openapi.json">openapi.json</a>, which generators read.</p>
          <dl>
            ${document.servers.map(
              ({ url, description }) =>
                html`<dt>${description}</dt>
                  <dd><code>${url}</code></dd>`,
            )}
          </dl>
          ${tags.map(
            ({ name, description, operations }) =>
              html`<section>
                <h2 id="${anchor(name)}">${name}</h2>
                ${prose(description ?? '')} ${operations.map((one) => operationPart(one, document))}
              </section>`,
          )}
        </main>
      </body>
    </html>`
}

function operationPart({ method, path, operation }: Placed, document: Document): Html {
  const { operationId, summary, description, parameters = [], requestBody, responses } = operation
  return html`<article>
    <h3 id="${operationId}"><a href="#${operationId}">${summary ?? operationId}</a></h3>
    <p class="route"><b>${method.toUpperCase()}</b> <code>${path}</code></p>
    ${prose(description ?? '')}
    <p class="soft"><code>${operationId}</code>, ${credentials(operation)}</p>
    ${
      parameters.length > 0 &&
      html`<h4>Parameters</h4>
        ${parameterTable(parameters)}`
    }
    ${
      requestBody &&
      html`<h4>Body${requestBody.required === false && ' (optional)'}</h4>
        ${contentPart(requestBody.content, document)}`
    }
    <h4>Answers</h4>
    ${Object.entries(responses).map(([status, answer]) => answerPart(status, answer, document))}
  </article>`
}

function credentials({ security = [] }: Operation): string {
  const schemes = security.map((alternative) => Object.keys(alternative).join(' and '))
  const named = schemes.filter((name) => name !== '')
  if (named.length === 0) return 'no credential'
  return `${named.join(' or ')}${named.length < schemes.length ? ', or none' : ''}`
}

function parameterTable(parameters: readonly Parameter[]): Html {
  return html`<table>
    ${parameters.map(
      ({ name, in: place, required, description, schema }) =>
        html`<tr>
          <th scope="row"><code>${name}</code></th>
          <td>${place}${required && ', required'}</td>
          <td>${schema && typeOf(schema)}</td>
          <td>${inline(description ?? '')}</td>
        </tr>`,
    )}
  </table>`
}

function answerPart(status: string, { description, content = {}, headers = {} }: Answer, document: Document): Html {
  const isGood = status.startsWith('2')
  return html`<details ${isGood && html`open`}>
    <summary><b>${status}</b> ${inline(description)}</summary>
    ${Object.keys(headers).length > 0 && html`<p class="soft">Headers: ${Object.keys(headers).join(', ')}</p>`}
    ${contentPart(content, document)}
  </details>`
}

function contentPart(content: Content, document: Document): readonly Html[] {
  return Object.entries(content).map(([type, { schema, example, examples = {} }]) => {
    const shown = [example, ...Object.values(examples).map(({ value }) => value)].filter((one) => one !== undefined)
    return html`<p class="soft">${type}</p>
      ${schema && fields(schema, document, DEPTH)}
      ${shown.map((one) => html`<pre>${typeof one === 'string' ? one : JSON.stringify(one, null, 2)}</pre>`)}`
  })
}

/** The fields of an object, or of the objects that a list or a choice holds. */
function fields(given: Schema, document: Document, depth: number): Html | null {
  const schema = resolve(given, document)
  const inner = schema.items ?? null
  if (inner) return fields(inner, document, depth)
  const choices = schema.anyOf ?? schema.oneOf ?? schema.allOf ?? []
  if (choices.length > 0) return html`${choices.map((choice) => fields(choice, document, depth))}`
  const properties = Object.entries(schema.properties ?? {})
  if (properties.length === 0 || depth === 0) return null
  return html`<ul class="fields">
    ${properties.map(([name, property]) => {
      const { description } = { ...resolve(property, document), ...property }
      return html`<li>
        <code>${name}</code> <i>${typeOf(property)}${!schema.required?.includes(name) && ', optional'}</i>
        ${inline(description ?? '')} ${fields(property, document, depth - 1)}
      </li>`
    })}
  </ul>`
}

function resolve(schema: Schema, { components }: Document): Schema {
  const name = schema.$ref?.split('/').at(-1)
  return name === undefined ? schema : (components.schemas[name] ?? {})
}

/** A type in a word or two: `string (uri)`, `Worker[]`, `"a" | "b"`. */
function typeOf(schema: Schema): string {
  const { $ref, items, type, format, enum: values, const: value } = schema
  if ($ref !== undefined) return $ref.split('/').at(-1) ?? ''
  if (items) return `${typeOf(items)}[]`
  const choices = schema.anyOf ?? schema.oneOf ?? schema.allOf
  if (choices) return choices.map(typeOf).join(' | ')
  if (value !== undefined) return JSON.stringify(value)
  if (values) return values.map((one) => JSON.stringify(one)).join(' | ')
  return `${type ?? 'anything'}${format ? ` (${format})` : ''}`
}

/** Paragraphs of a description. */
function prose(text: string): readonly Html[] {
  return text
    .split(/\n{2,}/)
    .filter((paragraph) => paragraph.trim() !== '')
    .map((paragraph) => html`<p>${inline(paragraph)}</p>`)
}

/** Text whose `code` and **strong** words are marked. */
function inline(text: string): readonly Html[] {
  return text.split(/(`[^`]+`|\*\*[^*]+\*\*)/).map((part) => {
    if (/^`[^`]+`$/.test(part)) return html`<code>${part.slice(1, -1)}</code>`
    return /^\*\*[^*]+\*\*$/.test(part) ? html`<strong>${part.slice(2, -2)}</strong>` : html`${part}`
  })
}

function anchor(name: string): string {
  return `tag-${name.toLowerCase().replaceAll(' ', '-')}`
}
