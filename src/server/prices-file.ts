import { readFile } from 'node:fs/promises'
import { readPrices } from '../gateway/prices/read-prices.ts'
import type { PriceList } from '../gateway/prices/read-prices.ts'

/** The most mistakes that a message names. */
const MAX_MISTAKES = 20

/** The price file cannot be read or has mistakes. The message names them. */
export class PricesFileError extends Error {
  constructor(file: string, mistakes: readonly string[]) {
    const more = mistakes.length > MAX_MISTAKES ? [`and ${mistakes.length - MAX_MISTAKES} more`] : []
    const lines = [...mistakes.slice(0, MAX_MISTAKES), ...more].map((line) => `  ${line}`)
    super(`The price file ${file} was not applied:\n${lines.join('\n')}`)
    this.name = 'PricesFileError'
  }
}

/** Reads a price file. Rejects with a `PricesFileError`. */
export async function loadPricesFile(file: string): Promise<{ readonly text: string; readonly prices: PriceList }> {
  const text = await readFile(file, 'utf8').catch((error: unknown) => {
    throw new PricesFileError(file, [`It cannot be read: ${error instanceof Error ? error.message : 'unknown'}.`])
  })
  const read = readPrices(text)
  if ('mistakes' in read) throw new PricesFileError(file, read.mistakes)
  return { text, prices: read.prices }
}
