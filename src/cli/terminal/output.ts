import type { Readable, Writable } from 'node:stream'
import { WriteStream } from 'node:tty'
import { styleText } from 'node:util'
import widthOf from 'fast-string-width'
import type { Environment } from '../environment.ts'

/** The streams of a process. `isTTY` and `columns` are set only for a terminal. */
export type Streams = {
  readonly stdin: Readable & { readonly isTTY?: boolean }
  readonly stdout: Sink
  readonly stderr: Sink
}

type Sink = Writable & { readonly isTTY?: boolean; readonly columns?: number }

type Style = 'bold' | 'dim' | 'green' | 'yellow' | 'red' | 'cyan'

export type Output = {
  /** Prints one line or several on stdout. */
  print(text: string): void
  /** Writes text of others to stdout as it is, without adding a line end. A terminal gets no control characters. */
  write(text: string): void
  /** Prints one line or several on stderr: everything that is not the result. */
  note(text: string): void
  /** Prints indented JSON on stdout. */
  json(value: unknown): void
  /** Prints rows in columns with headings on stdout. */
  table(headings: readonly string[], rows: readonly (readonly string[])[]): void
  /** Adds a style to text for stdout, if that is a terminal with colours (`NO_COLOR` and `FORCE_COLOR` are obeyed). */
  style(style: Style, text: string): string
  /** The same for stderr. */
  noteStyle(style: Style, text: string): string
  /** Whether a person can answer questions. In a terminal that says it has no columns, each letter would be a line. */
  readonly isInteractive: boolean
  /**
   * Runs a task, and shows a spinner with a message meanwhile if stderr is a terminal. Tasks that run at the same time
   * share the spinner of the first one.
   */
  busy<T>(message: string, task: () => Promise<T>): Promise<T>
}

/** Writes to the streams: colour and a spinner on a terminal, plain text elsewhere. */
export function makeOutput({ variables }: Environment, { stdin, stdout, stderr }: Streams): Output {
  const printer = (stream: Sink) => (text: string) =>
    void stream.write(`${text.replaceAll(STYLE_OR_CONTROL, hasColour(stream, variables) ? '$1' : '')}\n`)
  const print = printer(stdout)
  const painter = (stream: Sink) => (style: Style, text: string) =>
    hasColour(stream, variables) ? styleText(style, text, { validateStream: false }) : text
  const style = painter(stdout)
  const spin = makeSpinner(stderr)
  return {
    print,
    note: printer(stderr),
    write: (text) => void stdout.write(stdout.isTTY === true ? withoutControls(text) : text),
    json: (value) => void stdout.write(`${JSON.stringify(value, null, 2)}\n`),
    table: (headings, rows) => {
      const [head = '', ...lines] = columns([headings, ...rows])
      print([style('dim', head), ...lines].join('\n'))
    },
    style,
    noteStyle: painter(stderr),
    isInteractive: stdin.isTTY === true && stderr.isTTY === true && stderr.columns !== 0,
    busy: (message, task) => (canSpin(stderr, message, variables) ? spin(message, task) : task()),
  }
}

/** The rules of `styleText` in Node.js: a terminal with colours, or any stream where `FORCE_COLOR` says so. */
function hasColour(stream: Sink, variables: Environment['variables']): boolean {
  const canHave = stream.isTTY === true || variables['FORCE_COLOR'] !== undefined
  return canHave && WriteStream.prototype.hasColors(variables)
}

/** Whether a terminal can draw a line again and again: it must be able to go back to its start, and have the room. */
function canSpin({ isTTY, columns = 0 }: Sink, message: string, variables: Environment['variables']): boolean {
  return isTTY === true && variables['TERM'] !== 'dumb' && columns > message.length + 2
}

const FRAMES = ['|', '/', '-', '\\']
const FRAME_MS = 100

/** Not that of `@clack/prompts`: it reads the terminal meanwhile, and ends the process with status 0 at Ctrl-C. */
function makeSpinner(stderr: Sink): Output['busy'] {
  let running = 0
  let stop: (() => void) | undefined
  return async (message, task) => {
    if (running++ === 0) stop = startSpinner(stderr, message)
    try {
      return await task()
    } finally {
      if (--running === 0) stop?.()
    }
  }
}

/** Draws the spinner until the function that it returns is called. */
function startSpinner(stderr: Sink, message: string): () => void {
  let count = 0
  const draw = () => stderr.write(`\r${FRAMES[count++ % FRAMES.length]} ${message}`)
  draw()
  const timer = setInterval(draw, FRAME_MS)
  return () => {
    clearInterval(timer)
    stderr.write(`\r${' '.repeat(message.length + 2)}\r`)
  }
}

/**
 * Pads the cells of each column to the same width on a terminal, where a character of Chinese takes two columns.
 * Returns one line for each row.
 */
function columns(rows: readonly (readonly string[])[]): string[] {
  const cells = rows.map((row) => row.map(printable))
  const widths = (cells[0] ?? []).map((_, column) => Math.max(...cells.map((row) => widthOf(row[column] ?? ''))))
  return cells.map((row) =>
    row
      .map((cell, column) => cell + ' '.repeat((widths[column] ?? 0) - widthOf(cell)))
      .join('  ')
      .trimEnd(),
  )
}

/** Replaces control characters by spaces. In text from others they could move the cursor or recolour the terminal. */
export function printable(text: string): string {
  return text.replaceAll(CONTROLS, ' ')
}

/** Removes control characters from a text of several lines, for the same reason. Line ends and tabs stay. */
function withoutControls(text: string): string {
  // eslint-disable-next-line no-control-regex -- these are what it removes.
  return text.replaceAll(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g, '')
}

/**
 * A style of a command, or another control character. Much of what a command prints comes from the deployment, and only
 * the styles may reach a terminal.
 */
// eslint-disable-next-line no-control-regex -- these are what it finds.
const STYLE_OR_CONTROL = /(\u001b\[(?:[12]|22|3[12369])m)|[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g

// eslint-disable-next-line no-control-regex -- these are what it removes.
const CONTROLS = /[\u0000-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g
