import { html } from '../../http/page.ts'
import type { Html, Interpolation } from '../../http/page.ts'

/** A column of a table: its heading, and what it shows of a row. */
export type Column<Row> = {
  readonly heading: string
  /** Numbers are aligned to the right. */
  readonly isNumber?: boolean
  readonly cell: (row: Row) => Interpolation
}

/**
 * A table whose first column names each row. On narrow screens it scrolls by itself, and then the keyboard reaches it.
 * `caption` is for screen readers. `foot` is a last row with the sum of all.
 */
export function table<Row>(
  caption: string,
  columns: readonly Column<Row>[],
  rows: readonly Row[],
  foot: Row | null = null,
): Html {
  return html`<div class="scroll" role="region" aria-label="Table: ${caption}" tabindex="0">
    <table>
      <caption class="unseen">
        ${caption}
      </caption>
      <thead>
        <tr>
          ${columns.map((column) => html`<th scope="col" class="${classOf(column)}">${column.heading}</th>`)}
        </tr>
      </thead>
      <tbody>
        ${rows.map((row) => tableRow(columns, row))}
      </tbody>
      ${
        foot !== null &&
        html`<tfoot>
          ${tableRow(columns, foot)}
        </tfoot>`
      }
    </table>
  </div>`
}

function tableRow<Row>(columns: readonly Column<Row>[], row: Row): Html {
  return html`<tr>
    ${columns.map((column, index) =>
      index === 0
        ? html`<th scope="row">${column.cell(row)}</th>`
        : html`<td class="${classOf(column)}">${column.cell(row)}</td>`,
    )}
  </tr>`
}

function classOf({ isNumber = false }: { readonly isNumber?: boolean | undefined }): string {
  return isNumber ? 'number' : ''
}

/** Where the links of a page lead. `first`: null on the first page. `next`: null on the last page. */
type PageLinks = { readonly first: string | null; readonly next: string | null }

/** The links below a page of a list. `more`: the label of the link to the next page. */
export function pageLinks({ first, next }: PageLinks, more: string): Interpolation {
  if (first === null && next === null) return null
  return html`<p class="next">
    ${next !== null && html`<a class="button" href="${next}">${more}</a>`}
    ${first !== null && html`<a class="button" href="${first}">First page</a>`}
  </p>`
}
