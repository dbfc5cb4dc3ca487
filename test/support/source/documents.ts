import { globSync, readFileSync } from 'node:fs'
import path from 'node:path'

/** The repository's folder. */
export const ROOT = path.join(import.meta.dirname, '../../..')

export type Page = {
  /** From the repository's folder: `docs/settings.md`. */
  readonly file: string
  readonly text: string
}

/** A fenced block of code: the words behind the fence, and what is in it. */
export type Block = { readonly info: string; readonly code: string }

/** The documents that people read, without those of the packages and of the tests. */
export function readPages(): Page[] {
  return ['README.md', 'CONTRIBUTING.md', ...globSync('docs/*.md', { cwd: ROOT }).sort()].map(readPage)
}

export function readPage(file: string): Page {
  return { file, text: readFileSync(path.join(ROOT, file), 'utf8') }
}

/** The text from a heading of the second level to the next one. Throws when there is no such heading. */
export function sectionOf({ file, text }: Page, heading: string): string {
  const section = text.split(/^(?=## )/m).find((part) => part.startsWith(`## ${heading}\n`))
  if (section === undefined) throw new Error(`${file} has no section "${heading}".`)
  return section
}

/** The items of the lists in a text: their lines joined, without the dash. */
export function itemsOf(text: string): string[] {
  const items = text.match(/^ *- .*(?:\n +(?!- ).*)*/gm) ?? []
  return items.map((item) => item.replace(/^ *- /, '').replaceAll(/\n +/g, ' '))
}

/** The fenced blocks of a page, in their order. */
export function blocksOf({ text }: Page): Block[] {
  return [...text.matchAll(/^```(.*)\n([\s\S]*?)^```$/gm)].map(([, info = '', code = '']) => ({ info, code }))
}

/** The words in back quotes, outside of fenced blocks. */
export function codeWordsOf({ text }: Page): string[] {
  const prose = text.replaceAll(/^```[\s\S]*?^```$/gm, '')
  return [...prose.matchAll(/`([^`\n]+)`/g)].map(([, word = '']) => word)
}

/** The names under which a page's headings can be linked to, as GitHub makes them. */
export function anchorsOf({ text }: Page): string[] {
  return [...text.matchAll(/^#+ (.*)$/gm)].map(([, title = '']) =>
    title
      .toLowerCase()
      .replaceAll(/[^\w\- ]/g, '')
      .replaceAll(' ', '-'),
  )
}
