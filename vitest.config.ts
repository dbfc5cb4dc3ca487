import path from 'node:path'
import { defineConfig } from 'vitest/config'
import { BaseSequencer } from 'vitest/node'
import type { TestSpecification } from 'vitest/node'

/** Folders of tests, those with the longest files first. All others come after them. */
const ORDER = ['flows', 'cli', 'sdk', 'examples', 'contract', 'api', 'clients']

/**
 * Starts long files first, so that no worker is left with one at the end. Vitest knows how long files took only after a
 * first run, and would order them by size before that.
 */
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    return (await super.sort(files)).toSorted((a, b) => rankOf(a) - rankOf(b))
  }
}

function rankOf({ moduleId }: TestSpecification): number {
  const rank = ORDER.indexOf(path.basename(path.dirname(moduleId)))
  return rank < 0 ? ORDER.length : rank
}

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    // `npm run test:packages` runs them.
    exclude: ['test/packages/**'],
    globalSetup: 'test/support/contract/clear-seen.ts',
    pool: 'forks',
    // The files of a worker share its database, which is emptied between services.
    isolate: false,
    // Node.js loads tests and sources itself, as it does in production: 10 % less CPU time than with Vite's transforms.
    experimental: { viteModuleRunner: false, nodeLoader: false },
    sequence: { sequencer: LongestFirst },
    // Keeps compiled code between workers, programs that tests start, and runs. It is not in the folder for temporary
    // files, which nothing empties.
    env: { NODE_COMPILE_CACHE: path.resolve('node_modules/.cache/svc-tests') },
    // More than two cores, because tests spend much of their time waiting for real timeouts and other processes.
    maxWorkers: 4,
    // Room for new objects: with V8's default, the API tests take 8 % more CPU time, to collect garbage.
    execArgv: [
      '--min-semi-space-size=32',
      '--max-semi-space-size=64',
      // Fewer collections of the whole heap, which took a fifth of the CPU time. By default V8 starts one after a few
      // large buffers, such as bodies of requests, however little garbage there is besides, and one when tests wait.
      '--external-memory-accounted-in-global-limit',
      '--no-memory-reducer',
      '--initial-old-space-size=256',
      // As in src/main.ts: V8 would optimize the code of the embedded database for more CPU time than that saves here.
      '--wasm-tiering-budget=2147483647',
    ],
    // A missing snapshot file is a failure. `-u` writes them.
    update: 'none',
    // Generous, for machines with other work: the speed that is promised is measured by the benchmark.
    testTimeout: 60_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 30_000 } },
  },
})
