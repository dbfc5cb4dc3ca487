import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'

/** The size of the parser's function in the file of PGlite. */
const PARSER_BYTES = 104_930

it('the parser of an embedded database is never optimized, which would take 600 MB', { timeout: 60_000 }, async () => {
  const script = fileURLToPath(new URL('../support/parsing-database.ts', import.meta.url))
  // V8 optimizes a function while its caller waits, so that what it would optimize does not depend on the machine.
  const flags = ['--trace-wasm-compilation-times', '--wasm-tiering-budget=1000000', '--wasm-sync-tier-up']
  const { stdout } = await promisify(execFile)(process.execPath, [...flags, script], { maxBuffer: 2 ** 26 })
  const sizesOf = (compiler: string) => {
    const lines = stdout.matchAll(new RegExp(`using ${compiler}, .* bodysize ([0-9]+) `, 'g'))
    return new Set([...lines].map(([, size]) => Number(size)))
  }
  expect(sizesOf('Liftoff')).toContain(PARSER_BYTES)
  expect(sizesOf('TurboFan').size).toBeGreaterThan(10)
  expect(sizesOf('TurboFan')).not.toContain(PARSER_BYTES)
})
