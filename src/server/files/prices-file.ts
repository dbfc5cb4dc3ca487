import { mkdir } from 'node:fs/promises'
import path from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { readPrices } from '../../gateway/prices/read-prices.ts'
import type { PriceList } from '../../gateway/prices/read-prices.ts'
import type { Logger } from '../../log.ts'
import { replaceFile } from '../../private-files.ts'
import type { Service } from '../compose.ts'
import { findSharedFile, shareFile } from '../processes/shared-files.ts'
import { readText, RefusedFileError } from './refused-file.ts'

type Needs = { readonly file: string; readonly service: Pick<Service, 'applyPrices'>; readonly log: Logger }

/** Applies a price file, and resolves with a sentence. Rejects with a `RefusedFileError`; then nothing changes. */
export async function applyPricesFile({ file, service, log }: Needs): Promise<string> {
  const { text, prices } = await loadPricesFile(file)
  service.applyPrices(prices)
  shareFile('prices', text)
  log.info({ file, models: prices.size }, 'prices.applied')
  return `The price file ${file} was applied. Names of models with a price: ${prices.size}.`
}

/** Applies the prices that the processes before this one use. Resolves with false when there are none. */
export async function applySharedPrices({ file, service }: Omit<Needs, 'log'>): Promise<boolean> {
  const text = await findSharedFile('prices')
  if (text !== null) service.applyPrices(parsePrices(file, text))
  return text !== null
}

/** Reads a price file. Rejects with a `RefusedFileError`. */
export async function loadPricesFile(file: string): Promise<{ readonly text: string; readonly prices: PriceList }> {
  const text = await readText('price file', file)
  return { text, prices: parsePrices(file, text) }
}

function parsePrices(file: string, text: string): PriceList {
  const read = readPrices(text)
  if ('mistakes' in read) throw new RefusedFileError('price file', file, read.mistakes)
  return read.prices
}

/**
 * Checks the list in `source` and puts it in the place of `file`. Resolves with how many names have a price, and for
 * how many of them it is new or changed. Rejects with a `RefusedFileError`, and then `file` stays as it was.
 */
export async function replacePricesFile(source: string, file: string): Promise<{ models: number; changed: number }> {
  const { text, prices } = await loadPricesFile(source)
  const before = await loadPricesFile(file).catch(() => null)
  // Prices are no secret, and another user may run the service that reads them.
  await mkdir(path.dirname(file), { recursive: true })
  await replaceFile(file, text, 0o644)
  const changed = [...prices].filter(([name, price]) => !isDeepStrictEqual(before?.prices.get(name), price))
  return { models: prices.size, changed: changed.length }
}
