/**
 * `npm run test:packages`: tests the packages by installing them. `npm test` leaves it out, because npm's installations
 * take longer than any other test, and only a change of the packages or of their dependencies can break it.
 */
import { defineConfig } from 'vitest/config'
import config from '../../vitest.config.ts'

export default defineConfig({ test: { ...config.test, include: ['test/packages/*.test.ts'], exclude: [] } })
