import { ConfigError, readConfig } from '../../config.ts'
import { replacePricesFile } from '../../server/files/prices-file.ts'

/** `svc prices update FILE`: checks a price list and replaces SVC_PRICES_FILE by it. */
export async function updatePrices(source: string): Promise<void> {
  const { pricesFile } = readConfig()
  if (pricesFile === null) throw new ConfigError(['SVC_PRICES_FILE: is not set, so there is no file to update'])
  const { models, changed } = await replacePricesFile(source, pricesFile)
  const counts = `Names of models with a price: ${models}. New or changed: ${changed}.`
  process.stdout.write(`${pricesFile} is replaced. ${counts}\n`)
  process.stdout.write('Send SIGHUP to running services, or run svc reload, to apply them.\n')
}
