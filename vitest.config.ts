import { existsSync } from 'node:fs'
import path from 'node:path'
import { defineConfig } from 'vitest/config'

// npm test says loudly what it leaves out where there is no QEMU, or no browser.
const has = (program: string) =>
  (process.env.PATH ?? '').split(path.delimiter).some((folder) => existsSync(path.join(folder, program)))
const hasQemu = has('qemu-system-x86_64')
const hasChromium = has('chromium')

export default defineConfig({
  test: {
    // One file at a time per core is plenty: QEMU guests are emulated on the same two cores.
    maxWorkers: 2,
    testTimeout: 30_000,
    projects: [
      {
        extends: true,
        test: {
          name: 'unit',
          include: ['api/**/*.test.ts', 'test/rules.test.ts', 'test/words.test.ts'],
          exclude: ['api/drivers/qemu/**', 'api/drivers/images/**'],
        },
      },
      {
        extends: true,
        test: {
          name: 'api-sqlite',
          include: ['test/api/**/*.test.ts'],
          env: { BERTH_TEST_DATABASE: 'sqlite' },
        },
      },
      {
        extends: true,
        test: {
          name: 'api-postgres',
          include: ['test/api/**/*.test.ts'],
          env: { BERTH_TEST_DATABASE: 'postgres' },
          globalSetup: 'test/harness/postgres.ts',
        },
      },
      {
        extends: true,
        test: { name: 'sdk', include: ['test/sdk/**/*.test.ts'], testTimeout: 60_000, hookTimeout: 60_000 },
      },
      {
        extends: true,
        test: { name: 'cli', include: ['test/cli/**/*.test.ts'], testTimeout: 60_000 },
      },
      ...(hasChromium
        ? [
            {
              extends: true as const,
              test: { name: 'browser', include: ['test/browser/**/*.test.ts'], testTimeout: 60_000 },
            },
          ]
        : []),
      {
        extends: true,
        test: { name: 'process', include: ['test/process/**/*.test.ts'], testTimeout: 120_000 },
      },
      {
        extends: true,
        test: {
          // BERTH_URL and BERTH_TOKEN name another service than the one that is started for this.
          name: 'acceptance',
          include: [
            process.env.BERTH_PROFILE === 'smoke'
              ? 'test/acceptance/smoke.test.ts'
              : 'test/acceptance/**/*.test.ts',
          ],
          globalSetup: 'test/acceptance/harness/simulator.ts',
          testTimeout: 60_000,
          hookTimeout: 60_000,
          fileParallelism: false,
        },
      },
      ...(hasQemu
        ? [
            {
              extends: true as const,
              test: {
                name: 'acceptance-qemu',
                include: ['test/acceptance/smoke.test.ts'],
                globalSetup: 'test/acceptance/harness/qemu.ts',
                testTimeout: 300_000,
                hookTimeout: 300_000,
              },
            },
          ]
        : []),
      {
        extends: true,
        test: {
          name: 'qemu',
          include: ['api/drivers/{qemu,images}/**/*.test.ts', 'test/qemu/**/*.test.ts'],
          testTimeout: 300_000,
          hookTimeout: 300_000,
          fileParallelism: false,
        },
      },
    ],
  },
})
