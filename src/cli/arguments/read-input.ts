import { readFile } from 'node:fs/promises'
import { text } from 'node:stream/consumers'
import type { Cli } from '../command-line.ts'
import { findFileProblem, wrongUsage } from '../failures.ts'

/** Reads a file as text, or standard input for `-`. Throws a wrong usage error when it is empty or cannot be read. */
export async function readInput({ input, output, environment }: Cli, file: string): Promise<string> {
  const isStandardInput = file === '-'
  if (isStandardInput && input.isTTY) {
    const end = environment.platform === 'win32' ? 'Ctrl-Z and Enter' : 'Ctrl-D'
    output.note(`Type or paste the text, and end it with ${end} on a line of its own.`)
  }
  const read = isStandardInput ? await text(input) : await readNamed(file)
  if (read.trim() === '') throw wrongUsage(`${isStandardInput ? 'Standard input' : file} is empty.`)
  return read
}

async function readNamed(file: string): Promise<string> {
  return readFile(file, 'utf8').catch((error: unknown) => {
    throw wrongUsage(`${file} cannot be read: ${findFileProblem(error) ?? String(error)}.`)
  })
}
