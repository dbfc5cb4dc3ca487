import { readFile } from 'node:fs/promises'
import { text } from 'node:stream/consumers'
import type { Cli } from './command-line.ts'
import { wrongUsage } from './failures.ts'

/** The text of a file, or of standard input for `-`. Throws wrong usage when it cannot be read. */
export async function readInput({ input }: Cli, file: string): Promise<string> {
  if (file === '-') return text(input)
  return readFile(file, 'utf8').catch((error: unknown) => {
    throw wrongUsage(`${file} cannot be read${error instanceof Error ? `: ${error.message}` : ''}`)
  })
}
