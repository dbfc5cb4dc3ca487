import { html } from '../http/page.ts'
import type { Html } from '../http/page.ts'

/** Renders a description of the contract as paragraphs. */
export function prose(text: string): readonly Html[] {
  return text
    .split(/\n{2,}/)
    .filter((paragraph) => paragraph.trim() !== '')
    .map((paragraph) => html`<p>${inline(paragraph)}</p>`)
}

/** Renders text with `code` and **strong** words (Markdown). */
export function inline(text: string): readonly Html[] {
  return text.split(/(`[^`]+`|\*\*[^*]+\*\*)/).map((part) => {
    if (/^`[^`]+`$/.test(part)) return html`<code>${part.slice(1, -1)}</code>`
    return /^\*\*[^*]+\*\*$/.test(part) ? html`<strong>${part.slice(2, -2)}</strong>` : html`${part}`
  })
}
