import { html } from '../../http/page.ts'
import type { Html } from '../../http/page.ts'
import { cleanName } from '../../kernel/formats/clean-name.ts'
import { sourceOfDeviceName, UNNAMED_DEVICE } from '../devices/device-name.ts'

/** An email without its addresses. The subject is one line. */
export type ComposedMail = { readonly subject: string; readonly text: string; readonly html: string }

/** One part of an email; a text is a paragraph. The text form and the HTML form are made of the same parts. */
export type EmailPart =
  | string
  | { readonly kind: 'code'; readonly label: string; readonly code: string }
  /** Typed into a terminal. Unlike a code it can be long, so it may take several lines. */
  | { readonly kind: 'command'; readonly label: string; readonly command: string }
  | { readonly kind: 'facts'; readonly facts: readonly Fact[] }
  /** The address stands alone on its line, so that it can be copied and no client breaks it. */
  | { readonly kind: 'link'; readonly label: string; readonly address: string }

/** `note` says what the value is, or where it comes from. */
export type Fact = { readonly label: string; readonly value: string; readonly note?: string }

/** What an email says first. */
export type Heading = {
  /** Tells emails of one kind apart in a list. Names of other people are in it only by `nameInSubject`. */
  readonly subject: string
  /** A constant of the kind of email. */
  readonly title: string
}

/**
 * Composes an email: text of at most 76 columns except for addresses, and plain HTML that follows the reader's colours.
 */
export function composeMail({ subject, title }: Heading, parts: readonly EmailPart[]): ComposedMail {
  return {
    subject,
    text: `${parts.map(toText).join('\n\n')}\n\n-- \n${SIGNATURE}\n`,
    html: String(toDocument(title, parts)),
  }
}

/** The longest name in a subject, in code points. Lists of emails cut longer subjects off. */
const MAX_SUBJECT_NAME_LENGTH = 40

/**
 * A caller's text for a subject: one line of visible characters, at most 40 code points, in which no email client finds
 * a link. A line break would start another header.
 */
export function nameInSubject(text: string): string {
  const points = Array.from(cleanName(text) ?? 'a name that cannot be shown')
  const isLong = points.length > MAX_SUBJECT_NAME_LENGTH
  const shown = isLong ? `${points.slice(0, MAX_SUBJECT_NAME_LENGTH - 1).join('')}…` : points.join('')
  return unlink(shown)
}

/** A caller's text in quotes, in which no email client finds a link. */
export function quoteUnlinked(text: string): string {
  return `“${unlink(text)}”`
}

/**
 * A caller's text in which no email client finds a link: a zero-width space follows every character that separates the
 * parts of addresses. The text looks the same and can be copied.
 */
export function unlink(text: string): string {
  return text.replace(/[.:/@](?=\S)/g, '$&\u200B')
}

/** A device's name, and who says so. */
export function deviceFact(name: string): Fact {
  const value = name === UNNAMED_DEVICE ? name : quoteUnlinked(name)
  return { label: 'Device', value, note: sourceOfDeviceName(name) }
}

const SIGNATURE = 'Sent by svc. Replies to this address are not read.'
const COLUMNS = 76
const LABEL_COLUMNS = 10

function toText(part: EmailPart): string {
  if (typeof part === 'string') return wrap(part)
  switch (part.kind) {
    case 'code':
      return toIndented(part.label, part.code)
    case 'command':
      return toIndented(part.label, part.command)
    case 'facts':
      return part.facts.map(factToText).join('\n')
    case 'link':
      return `${part.label}:\n${part.address}`
  }
}

function toIndented(label: string, text: string): string {
  return `${label}:\n\n    ${text}`
}

function factToText({ label, value, note }: Fact): string {
  const first = `${label}:`.padEnd(LABEL_COLUMNS) + value
  return note ? `${first}\n${' '.repeat(LABEL_COLUMNS)}(${note})` : first
}

function wrap(text: string): string {
  const lines: string[] = []
  let line = ''
  for (const word of text.split(' ')) {
    if (line && line.length + 1 + word.length > COLUMNS) {
      lines.push(line)
      line = word
    } else line = line ? `${line} ${word}` : word
  }
  return [...lines, line].join('\n')
}

// Colours are set only where they are readable on light and on dark backgrounds. Other text has the reader's own
// colour; less important text is made lighter by opacity.
const STYLE = {
  body:
    'margin:0;padding:24px 16px;' +
    'font:16px/1.5 -apple-system,BlinkMacSystemFont,Segoe UI,Roboto,Helvetica,Arial,sans-serif',
  container: 'max-width:480px;margin:0 auto',
  heading: 'margin:0 0 16px;font-size:22px;line-height:1.3;font-weight:600',
  paragraph: 'margin:0 0 16px',
  box: 'margin:0 0 20px;padding:14px 18px;border:1px solid #8a9699;border-radius:10px',
  brand:
    'display:inline-block;margin:0 0 20px;padding:2px 10px;border-radius:7px;background:#0a6a70;' +
    'color:#ffffff;font-size:15px;font-weight:600',
  label: 'margin:0;font-size:14px;opacity:0.75',
  code:
    'margin:0;font:600 30px/1.3 ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;' +
    'letter-spacing:2px;white-space:nowrap',
  command:
    'margin:6px 0 0;font:600 15px/1.5 ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;word-break:break-word',
  table: 'margin:0 0 20px;border-collapse:collapse',
  factLabel:
    'padding:5px 20px 5px 0;font-size:14px;font-weight:400;opacity:0.75;line-height:24px;' +
    'text-align:left;vertical-align:top',
  factValue: 'padding:5px 0;vertical-align:top;word-break:break-word',
  note: 'font-size:14px;opacity:0.75',
  buttonRow: 'margin:0 0 8px',
  button:
    'display:inline-block;padding:12px 22px;border-radius:9px;background:#0a6a70;color:#ffffff;' +
    'font-weight:600;text-decoration:none',
  address: 'margin:0 0 24px;font-size:13px;line-height:1.45;opacity:0.75;word-break:break-all',
  signature: 'margin:28px 0 0;padding-top:14px;border-top:1px solid #8a9699;font-size:13px;opacity:0.75',
} as const

function toDocument(title: string, parts: readonly EmailPart[]): Html {
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <meta name="supported-color-schemes" content="light dark" />
        <meta name="format-detection" content="telephone=no, date=no, address=no, email=no, url=no" />
        <title>${title}</title>
      </head>
      <body style="${STYLE.body}">
        <div style="${STYLE.container}">
          <p style="${STYLE.brand}">svc</p>
          <h1 style="${STYLE.heading}">${title}</h1>
          ${parts.map(toHtml)}
          <p style="${STYLE.signature}">${SIGNATURE}</p>
        </div>
      </body>
    </html> `
}

function toHtml(part: EmailPart): Html {
  if (typeof part === 'string') return html`<p style="${STYLE.paragraph}">${part}</p>`
  switch (part.kind) {
    case 'code':
      return toBox(part.label, part.code, STYLE.code)
    case 'command':
      return toBox(part.label, part.command, STYLE.command)
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

function toBox(label: string, text: string, style: string): Html {
  return html`<div style="${STYLE.box}">
    <p style="${STYLE.label}">${label}</p>
    <p style="${style}">${text}</p>
  </div>`
}

function factToHtml({ label, value, note }: Fact): Html {
  return html`<tr>
    <th scope="row" style="${STYLE.factLabel}">${label}</th>
    <td style="${STYLE.factValue}">
      <bdi>${value}</bdi>${note && html`<br /><span style="${STYLE.note}">${note}</span>`}
    </td>
  </tr>`
}
