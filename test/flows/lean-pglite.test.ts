import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { open, readFile } from 'node:fs/promises'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { newFolder } from '../support/process.ts'

/** The size of the parser's function in the file of PGlite. */
const PARSER_BYTES = 104_930

it('the parser of an embedded database is never optimized, which would take 600 MB', { timeout: 60_000 }, async () => {
  const script = fileURLToPath(new URL('../support/parsing-database.ts', import.meta.url))
  // V8 optimizes a function while its caller waits, so that what it would optimize does not depend on the machine.
  const flags = ['--trace-wasm-compilation-times', '--wasm-tiering-budget=1000000', '--wasm-sync-tier-up']
  const trace = await outputOf([...flags, script])
  const sizesOf = (compiler: string) => {
    const lines = trace.matchAll(new RegExp(`using ${compiler}, .* bodysize ([0-9]+) `, 'g'))
    return new Set([...lines].map(([, size]) => Number(size)))
  }
  expect(sizesOf('Liftoff')).toContain(PARSER_BYTES)
  expect(sizesOf('TurboFan').size).toBeGreaterThan(10)
  expect(sizesOf('TurboFan')).not.toContain(PARSER_BYTES)
})

/** Runs Node.js with its output in a file: V8 drops lines for which a pipe has no room, as on a busy machine. */
async function outputOf(parameters: readonly string[]): Promise<string> {
  await using folder = await newFolder()
  const name = path.join(folder.path, 'output.txt')
  await using file = await open(name, 'w')
  const child = spawn(process.execPath, parameters, { stdio: ['ignore', file.fd, 'inherit'] })
  expect(await once(child, 'close')).toEqual([0, null])
  return await readFile(name, 'utf8')
}
