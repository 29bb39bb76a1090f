import { defineConfig } from 'vitest/config'
import { mutated } from './mutated.ts'

/** The tests that mutants of one part of the product meet. */
export default defineConfig({
  test: {
    maxWorkers: 1,
    experimental: { viteModuleRunner: false, nodeLoader: false },
    testTimeout: 60_000,
    hookTimeout: 60_000,
    expect: { poll: { timeout: 30_000 } },
    include: [...mutated(process.env.BERTH_MUTATED).tests],
    env: { BERTH_TEST_DATABASE: 'sqlite' },
  },
})
