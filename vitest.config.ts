import path from 'node:path'
import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    // `npm run test:packages` runs them.
    exclude: ['test/packages/**'],
    globalSetup: 'test/support/clear-seen.ts',
    pool: 'forks',
    // The files of a worker share its database, which is emptied between services.
    isolate: false,
    // More than two cores, because tests spend much of their time waiting for real timeouts and other processes.
    maxWorkers: 4,
    // Room for new objects: with V8's default, the API tests take 8 % more CPU time, to collect garbage.
    execArgv: [
      '--min-semi-space-size=32',
      '--max-semi-space-size=64',
      // As in src/main.js: V8 would optimize the code of the embedded database for more CPU time than that saves here.
      '--wasm-tiering-budget=2147483647',
    ],
    // For the processes that tests start, which often have a home of their own: their compiled code stays out of the
    // folder for temporary files, which nobody empties.
    env: { NODE_COMPILE_CACHE: path.resolve('node_modules/.cache/svc-tests') },
    // A missing snapshot file is a failure. `-u` writes them.
    update: 'none',
    // Generous, for machines with other work: the speed that is promised is measured by the benchmark.
    testTimeout: 60_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 30_000 } },
  },
})
