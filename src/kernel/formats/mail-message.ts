/** What an email consists of. Addresses are in ASCII. */
export type MessageParts = {
  readonly from: { readonly name: string; readonly address: string }
  readonly to: string
  /** One line. */
  readonly subject: string
  readonly text: string
  readonly html: string
  readonly date: Date
  /** The part of the message id before the `@`, which no other email has. */
  readonly id: string
}

/**
 * Writes an email with a text form and an HTML form as the bytes that are sent (RFC 5322; RFC 2046, section 5.1.4).
 * Lines end in CRLF and have ASCII characters only, and those of the two forms are at most 76 characters long.
 */
export function writeMessage({ from, to, subject, text, html, date, id }: MessageParts): string {
  const boundary = `svc-${id}`
  const domain = from.address.slice(from.address.lastIndexOf('@') + 1)
  return [
    `From: ${from.name} <${from.address}>`,
    `To: ${to}`,
    `Subject: ${writeHeaderText(subject)}`,
    `Message-ID: <${id}@${domain}>`,
    `Date: ${date.toUTCString().replace('GMT', '+0000')}`,
    // Asks mail systems to send no automatic replies (RFC 3834, section 5).
    'Auto-Submitted: auto-generated',
    'MIME-Version: 1.0',
    'Content-Type: multipart/alternative;',
    ` boundary="${boundary}"`,
    '',
    // From the plainest form to the best one (RFC 2046, section 5.1.4).
    ...partLines(boundary, 'text/plain', text),
    ...partLines(boundary, 'text/html', html),
    `--${boundary}--`,
    '',
  ].join('\r\n')
}

function partLines(boundary: string, type: string, content: string): string[] {
  return [
    `--${boundary}`,
    `Content-Type: ${type}; charset=utf-8`,
    'Content-Transfer-Encoding: quoted-printable',
    '',
    writeQuotedPrintable(content),
  ]
}

/** The longest line of quoted-printable, without its end (RFC 2045, section 6.7). */
const MAX_LINE_LENGTH = 76

/** What is not written as it is: all but printable ASCII and blanks, blanks at the end of a line, and `=`. */
const ESCAPED = /[^\t\x20-\x3c\x3e-\x7e]|[\t ]$/gu

function writeQuotedPrintable(content: string): string {
  return content
    .split(/\r?\n/)
    .map((line) => breakLine(line.replace(ESCAPED, escapeCharacter)))
    .join('\r\n')
}

function escapeCharacter(character: string): string {
  // Each attribute of the HTML form has one.
  if (character === '=') return '=3D'
  return Buffer.from(character).toString('hex').toUpperCase().replaceAll(/../g, '=$&')
}

/** Breaks a long line softly, and never within an escape. */
function breakLine(line: string): string {
  if (line.length <= MAX_LINE_LENGTH) return line
  const parts: string[] = []
  let at = 0
  while (line.length - at > MAX_LINE_LENGTH) {
    let end = at + MAX_LINE_LENGTH - 1
    if (line[end - 1] === '=') end -= 1
    else if (line[end - 2] === '=') end -= 2
    parts.push(line.slice(at, end))
    at = end
  }
  return [...parts, line.slice(at)].join('=\r\n')
}

/** The longest text of an encoded word in UTF-8, whose base64 form fits into the 75 characters of a word. */
const MAX_WORD_BYTES = 45

/** A text of a header: as it is, or as encoded words where it has other characters than ASCII (RFC 2047). */
function writeHeaderText(text: string): string {
  if (/^[\x20-\x7e]*$/.test(text) && !text.includes('=?')) return text
  const words: string[] = ['']
  for (const character of text) {
    const word = words.at(-1) ?? ''
    if (Buffer.byteLength(word + character) > MAX_WORD_BYTES) words.push(character)
    else words[words.length - 1] = word + character
  }
  return words.map((word) => `=?UTF-8?B?${Buffer.from(word).toString('base64')}?=`).join('\r\n ')
}
