import { parseArgs } from 'node:util'

/**
 * Reads the only option of a script, `--NAME N`: a whole number of at least `min`. Other arguments end the process with
 * the usage.
 */
export function readCountOption(script: string, name: string, byDefault: number, min = 1): number {
  try {
    const { values } = parseArgs({ options: { [name]: { type: 'string', default: String(byDefault) } } })
    const count = Number(values[name])
    if (!Number.isInteger(count) || count < min) throw new Error(`--${name} must be a whole number of at least ${min}.`)
    return count
  } catch (error) {
    console.error(error instanceof Error ? error.message : error)
    console.error(`Usage: npm run ${script} [-- --${name} N]. The default is ${byDefault}.`)
    process.exit(2)
  }
}
