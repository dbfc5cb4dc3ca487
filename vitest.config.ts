import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: 'test/support/clear-seen.ts',
    pool: 'forks',
    // Files of one worker share its database, which is emptied between services.
    isolate: false,
    // One more than two cores: much of a test's time is waiting for real timeouts.
    maxWorkers: 3,
    testTimeout: 30_000,
    hookTimeout: 60_000,
    // What must happen soon is measured where it is promised; a wait for what must happen at all fails only when it does not.
    expect: { poll: { timeout: 10_000 } },
  },
})
