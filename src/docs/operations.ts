/** What the page shows of an operation: route, credentials, parameters, body and answers. */
import { html } from '../http/page.ts'
import type { Html } from '../http/page.ts'
import type { Answer, Content, Document, Media, DocumentedOperation } from './document.ts'
import { choicesOf, fieldList, parameterList, resolve, sampleOf } from './schemas.ts'
import { inline, prose } from './text.ts'

/** An operation with its place in the document. */
export type ListedOperation = {
  readonly method: string
  readonly path: string
  readonly operation: DocumentedOperation
}

/** These headers are on every answer. The introduction describes them once. */
const COMMON_HEADERS = ['x-request-id', 'request-id']

/** The part of the page about one operation: parameters, bodies, answers and errors. */
export function operationArticle({ method, path, operation }: ListedOperation, document: Document): Html {
  const { operationId, description, parameters = [], requestBody, responses, servers = [] } = operation
  return html`<article>
    <h3 id="${operationId}">${linkTo(operation)}</h3>
    <p class="route">${methodMark(method)} <code>${path}</code></p>
    ${prose(description ?? '')}
    <p class="soft">
      Operation <code>${operationId}</code>. ${credentials(operation)}.
      ${servers.map(({ url }) => html`At <code>${url}</code>.`)}
    </p>
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

/** A link to the article of an operation. */
export function linkTo({ operationId, summary }: DocumentedOperation): Html {
  return html`<a href="#${operationId}">${summary ?? operationId}</a>`
}

/** The HTTP method of an operation as a coloured label. */
export function methodMark(method: string): Html {
  return html`<b class="method ${method}">${method.toUpperCase()}</b>`
}

function credentials({ security = [] }: DocumentedOperation): Html {
  const schemes = security.map((alternative) => Object.keys(alternative).join(' and '))
  const named = schemes.filter((name) => name !== '')
  if (named.length === 0) return html`Needs no credential`
  return html`<a href="#credentials">Credential</a>:
    ${named.join(' or ')}${named.length < schemes.length && ', or none'}`
}

function answerPart(status: string, { description, content = {}, headers = {} }: Answer, document: Document): Html {
  const isGood = status.startsWith('2')
  const ownHeaders = Object.keys(headers).filter((name) => !COMMON_HEADERS.includes(name))
  return html`<details ${isGood && html`open`}>
    <summary><b class="status ${isGood ? 'good' : ''}">${status}</b> <span>${inline(description)}</span></summary>
    <div class="answer">
      ${ownHeaders.length > 0 && html`<p class="soft">Headers: ${ownHeaders.join(', ')}</p>`}
      ${isGood ? contentPart(content, document) : errorPart(content, document)}
    </div>
  </details>`
}

function contentPart(content: Content, document: Document): readonly Html[] {
  return Object.entries(content).map(
    ([type, media]) =>
      html`<p class="soft media">${type}</p>
        ${media.schema && fieldList(media.schema, document)} ${examplesOf(media).map(codeBlock)}`,
  )
}

function examplesOf({ example, examples = {} }: Media): readonly unknown[] {
  return [example, ...Object.values(examples).map(({ value }) => value)].filter((one) => one !== undefined)
}

/**
 * Shows a sample of each error that has this status. The fields of an error are described once, in the introduction.
 */
function errorPart(content: Content, document: Document): readonly Html[] {
  return Object.entries(content).map(([type, { schema = {} }]) => {
    const choices = choicesOf(resolve(schema, document))
    const errors = (choices.length > 0 ? choices : [schema]).map((error) => ({
      description: choices.length > 0 && resolve(error, document).description,
      sample: type === 'application/json' ? sampleOf(error, document) : undefined,
    }))
    return html`<p class="soft media">${type}</p>
      ${errors.map(
        ({ description, sample }) => html`${prose(description || '')} ${sample !== undefined && codeBlock(sample)}`,
      )}`
  })
}

function codeBlock(value: unknown): Html {
  return html`<pre>${typeof value === 'string' ? value : JSON.stringify(value, null, 2)}</pre>`
}
