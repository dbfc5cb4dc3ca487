import { html, type Html } from '../../http/page.ts'

/** A mail without its addresses. The subject is always the same words, so nothing that somebody sent gets into a header. */
export type Mail = { readonly subject: string; readonly text: string; readonly html: string }

/** One part of a mail; both forms, text and HTML, are made of the same parts. */
export type Part =
  | { readonly kind: 'words'; readonly words: string }
  | { readonly kind: 'code'; readonly label: string; readonly code: string }
  | { readonly kind: 'facts'; readonly facts: readonly Fact[] }
  /** The address stands alone on its line, so that it can be copied and no client breaks it. */
  | { readonly kind: 'link'; readonly label: string; readonly address: string }

/** `note` says what the value is, or where it comes from. */
export type Fact = { readonly label: string; readonly value: string; readonly note?: string }

/** A mail of these parts: text of at most 76 columns but for addresses, and plain HTML that follows the reader's colours. */
export function letter(subject: string, parts: readonly Part[]): Mail {
  return {
    subject,
    text: `${parts.map(toText).join('\n\n')}\n\n-- \n${SIGNATURE}\n`,
    html: String(toDocument(subject, parts)),
  }
}

/**
 * Somebody's words in quotes, such that no mail client makes a link of them: a zero-width space follows every sign that addresses
 * are built with. They still look and read the same, and can be copied.
 */
export function unlinked(words: string): string {
  return `“${words.replace(/[.:/@](?=\S)/g, '$&\u200B')}”`
}

const SIGNATURE = 'Sent by svc. Nobody reads what is sent to this address.'
const COLUMNS = 76
const LABEL_COLUMNS = 10

function toText(part: Part): string {
  switch (part.kind) {
    case 'words':
      return wrap(part.words)
    case 'code':
      return `${part.label}:\n\n    ${part.code}`
    case 'facts':
      return part.facts.map(factToText).join('\n')
    case 'link':
      return `${part.label}:\n${part.address}`
  }
}

function factToText({ label, value, note }: Fact): string {
  const first = `${label}:`.padEnd(LABEL_COLUMNS) + value
  return note ? `${first}\n${' '.repeat(LABEL_COLUMNS)}(${note})` : first
}

function wrap(words: string): string {
  const lines: string[] = []
  let line = ''
  for (const word of words.split(' ')) {
    if (line && line.length + 1 + word.length > COLUMNS) {
      lines.push(line)
      line = word
    } else line = line ? `${line} ${word}` : word
  }
  return [...lines, line].join('\n')
}

// Colours only where they are sure to be readable on light and on dark; the rest is the reader's own, and steps back by opacity.
const STYLE = {
  body: 'margin:0;padding:24px 16px;font:16px/1.5 -apple-system,BlinkMacSystemFont,Segoe UI,Roboto,Helvetica,Arial,sans-serif',
  sheet: 'max-width:480px;margin:0 auto',
  heading: 'margin:0 0 16px;font-size:22px;line-height:1.3;font-weight:600',
  words: 'margin:0 0 16px',
  box: 'margin:0 0 20px;padding:14px 18px;border:1px solid #8a9699;border-radius:10px',
  brand:
    'display:inline-block;margin:0 0 20px;padding:2px 10px;border-radius:7px;background:#0a6a70;color:#ffffff;font-size:15px;font-weight:600',
  label: 'margin:0;font-size:14px;opacity:0.75',
  code: 'margin:0;font:600 30px/1.3 ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;letter-spacing:2px;white-space:nowrap',
  table: 'margin:0 0 20px;border-collapse:collapse',
  factLabel:
    'padding:5px 20px 5px 0;font-size:14px;font-weight:400;opacity:0.75;line-height:24px;text-align:left;vertical-align:top',
  factValue: 'padding:5px 0;vertical-align:top;word-break:break-word',
  note: 'font-size:14px;opacity:0.75',
  buttonRow: 'margin:0 0 8px',
  button:
    'display:inline-block;padding:12px 22px;border-radius:9px;background:#0a6a70;color:#ffffff;font-weight:600;text-decoration:none',
  address: 'margin:0 0 24px;font-size:13px;line-height:1.45;opacity:0.75;word-break:break-all',
  signature: 'margin:28px 0 0;padding-top:14px;border-top:1px solid #8a9699;font-size:13px;opacity:0.75',
} as const

function toDocument(subject: string, parts: readonly Part[]): Html {
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <meta name="supported-color-schemes" content="light dark" />
        <meta name="format-detection" content="telephone=no, date=no, address=no, email=no, url=no" />
        <title>${subject}</title>
      </head>
      <body style="${STYLE.body}">
        <div style="${STYLE.sheet}">
          <p style="${STYLE.brand}">svc</p>
          <h1 style="${STYLE.heading}">${subject}</h1>
          ${parts.map(toHtml)}
          <p style="${STYLE.signature}">${SIGNATURE}</p>
        </div>
      </body>
    </html> `
}

function toHtml(part: Part): Html {
  switch (part.kind) {
    case 'words':
      return html`<p style="${STYLE.words}">${part.words}</p>`
    case 'code':
      return html`<div style="${STYLE.box}">
        <p style="${STYLE.label}">${part.label}</p>
        <p style="${STYLE.code}">${part.code}</p>
      </div>`
    case 'facts':
      return html`<table style="${STYLE.table}">
        ${part.facts.map(factToHtml)}
      </table>`
    case 'link':
      return html`<p style="${STYLE.buttonRow}">
          <a href="${part.address}" style="${STYLE.button}">${part.label}</a>
        </p>
        <p style="${STYLE.address}">${part.address}</p>`
  }
}

function factToHtml({ label, value, note }: Fact): Html {
  return html`<tr>
    <th scope="row" style="${STYLE.factLabel}">${label}</th>
    <td style="${STYLE.factValue}">
      <bdi>${value}</bdi>${note && html`<br /><span style="${STYLE.note}">${note}</span>`}
    </td>
  </tr>`
}
