import { html } from '../http/page.ts'
import type { Html } from '../http/page.ts'
import type { Answer, Content, Document, Operation, Parameter, Schema, SecurityScheme } from './document.ts'

type Placed = { readonly method: string; readonly path: string; readonly operation: Operation }
type Tag = { readonly name: string; readonly description?: string; readonly operations: readonly Placed[] }

/** How deep the fields of fields are shown. */
const DEPTH = 5

/** On every answer, as the description of the whole says once. */
const HEADERS_OF_ALL = ['x-request-id', 'request-id']

/** The contract as one page, to read, search and link to: nothing is loaded but its stylesheet, and no script runs. */
export function docsPage(document: Document): Html {
  const tags = tagsOf(document)
  const { title, version } = document.info
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <title>${title} ${version}</title>
        <link rel="stylesheet" href="/docs/docs.css" />
      </head>
      <body id="top">
        <header class="bar">
          <a class="brand" href="#top">${title} <small>${version}</small></a>
          <a class="to-index" href="#index">Index</a>
          <a href="/openapi.json">openapi.json</a>
        </header>
        ${index(tags)}
        <main>${introduction(document)} ${tags.map((tag) => section(tag, document))}</main>
      </body>
    </html>`
}

function tagsOf({ paths, tags = [] }: Document): readonly Tag[] {
  const placed = Object.entries(paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => ({ method, path, operation })),
  )
  return tags.map((tag) => ({
    ...tag,
    operations: placed.filter(({ operation }) => operation.tags.includes(tag.name)),
  }))
}

/** Every operation beside the text; a narrow screen shows the groups alone, each of which begins with its operations. */
function index(tags: readonly Tag[]): Html {
  return html`<nav id="index" aria-label="Operations">
    <ul>
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

function introduction({ info, servers, components }: Document): Html {
  return html`<h1>${info.title} <small>${info.version}</small></h1>
    ${prose(info.description ?? '')}
    <p>The same as <a href="/openapi.json">openapi.json</a>, which generators read.</p>
    <dl class="facts">
      ${servers.map(
        ({ url, description }) =>
          html`<div>
            <dt>${description}</dt>
            <dd><code>${url}</code></dd>
          </div>`,
      )}
    </dl>
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
    </dl>`
}

/** Where a credential is put: `Authorization: Bearer`, `x-api-key`, `Cookie: svc_session`. */
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
    ${operations.map((one) => operationPart(one, document))}
  </section>`
}

function linkTo({ operationId, summary }: Operation): Html {
  return html`<a href="#${operationId}">${summary ?? operationId}</a>`
}

function methodMark(method: string): Html {
  return html`<b class="method ${method}">${method.toUpperCase()}</b>`
}

function operationPart({ method, path, operation }: Placed, document: Document): Html {
  const { operationId, description, parameters = [], requestBody, responses } = operation
  return html`<article>
    <h3 id="${operationId}">${linkTo(operation)}</h3>
    <p class="route">${methodMark(method)} <code>${path}</code></p>
    ${prose(description ?? '')}
    <p class="soft">Operation <code>${operationId}</code>. ${credentials(operation)}.</p>
    ${
      parameters.length > 0 &&
      html`<h4>Parameters</h4>
        ${parameterList(parameters, document)}`
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

function credentials({ security = [] }: Operation): Html {
  const schemes = security.map((alternative) => Object.keys(alternative).join(' and '))
  const named = schemes.filter((name) => name !== '')
  if (named.length === 0) return html`Needs no credential`
  return html`<a href="#credentials">Credential</a>:
    ${named.join(' or ')}${named.length < schemes.length && ', or none'}`
}

function parameterList(parameters: readonly Parameter[], document: Document): Html {
  return html`<ul class="fields">
    ${parameters
      .map((parameter) => resolveParameter(parameter, document))
      .map(
        ({ name, in: place, required, description = '', schema }) =>
          html`<li>
            ${fieldHead(name, [schema && typeOf(schema, document), place, !required && 'optional'])}
            ${prose(description)}
          </li>`,
      )}
  </ul>`
}

function answerPart(status: string, { description, content = {}, headers = {} }: Answer, document: Document): Html {
  const isGood = status.startsWith('2')
  const ownHeaders = Object.keys(headers).filter((name) => !HEADERS_OF_ALL.includes(name))
  return html`<details ${isGood && html`open`}>
    <summary><b class="status ${isGood ? 'good' : ''}">${status}</b> <span>${inline(description)}</span></summary>
    <div class="answer">
      ${ownHeaders.length > 0 && html`<p class="soft">Headers: ${ownHeaders.join(', ')}</p>`}
      ${contentPart(content, document)}
    </div>
  </details>`
}

function contentPart(content: Content, document: Document): readonly Html[] {
  return Object.entries(content).map(([type, { schema, example, examples = {} }]) => {
    const shown = [example, ...Object.values(examples).map(({ value }) => value)].filter((one) => one !== undefined)
    return html`<p class="soft media">${type}</p>
      ${schema && fields(schema, document, DEPTH)}
      ${shown.map((one) => html`<pre>${typeof one === 'string' ? one : JSON.stringify(one, null, 2)}</pre>`)}`
  })
}

/** The fields of an object, or of the objects that a list or a choice holds. */
function fields(given: Schema, document: Document, depth: number): Html | null {
  const schema = resolve(given, document)
  const inner = schema.items ?? null
  if (inner) return fields(inner, document, depth)
  const choices = choicesOf(schema)
  if (choices.length > 0) return html`${choices.map((choice) => fields(choice, document, depth))}`
  const properties = Object.entries(schema.properties ?? {})
  if (properties.length === 0 || depth === 0) return null
  return html`<ul class="fields">
    ${properties.map(([name, property]) => {
      const { description = '' } = { ...resolve(property, document), ...property }
      return html`<li>
        ${fieldHead(name, [typeOf(property, document), !schema.required?.includes(name) && 'optional'])}
        ${prose(description)} ${fields(property, document, depth - 1)}
      </li>`
    })}
  </ul>`
}

function fieldHead(name: string, facts: readonly (string | false | undefined)[]): Html {
  return html`<p><code>${name}</code> <span class="soft">${facts.filter(Boolean).join(', ')}</span></p>`
}

function resolve(schema: Schema, { components }: Document): Schema {
  const name = lastOf(schema.$ref)
  return name === undefined ? schema : (components.schemas[name] ?? {})
}

function resolveParameter(parameter: Parameter, { components }: Document): Parameter {
  const name = lastOf(parameter.$ref)
  return name === undefined ? parameter : (components.parameters?.[name] ?? parameter)
}

function lastOf(ref: string | undefined): string | undefined {
  return ref?.split('/').at(-1)
}

function choicesOf({ anyOf, oneOf, allOf }: Schema): readonly Schema[] {
  return anyOf ?? oneOf ?? allOf ?? []
}

/** A type in a word or two: `string (uri)`, `Worker[]`, `"a" | "b"`. A name stands for what has fields only. */
function typeOf(given: Schema, document: Document): string {
  const schema = resolve(given, document)
  if (given.$ref !== undefined && schema.properties) return lastOf(given.$ref) ?? ''
  const { items, type, format, enum: values, const: value } = schema
  if (items) return `${listed(typeOf(items, document))}[]`
  const choices = choicesOf(schema)
  if (choices.length > 0) return choices.map((choice) => typeOf(choice, document)).join(' | ')
  if (value !== undefined) return JSON.stringify(value)
  if (values) return values.map((one) => JSON.stringify(one)).join(' | ')
  return `${type ?? 'anything'}${format ? ` (${format})` : ''}`
}

function listed(type: string): string {
  return type.includes(' | ') ? `(${type})` : type
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
