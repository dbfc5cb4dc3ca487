import { parseArgs } from 'node:util'

/**
 * Reads the only option of a script, `--NAME N`: a whole number of at least 1. Other arguments end the process with the
 * usage.
 */
export function readCountOption(script: string, name: string, byDefault: number): number {
  try {
    const { values } = parseArgs({ options: { [name]: { type: 'string', default: String(byDefault) } } })
    const count = Number(values[name])
    if (!Number.isInteger(count) || count < 1) throw new Error(`--${name} must be a whole number of at least 1.`)
    return count
  } catch (error) {
    console.error(error instanceof Error ? error.message : error)
    console.error(`Usage: npm run ${script} [-- --${name} N]. The default is ${byDefault}.`)
    process.exit(2)
  }
}
